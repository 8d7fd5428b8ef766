from __future__ import annotations

import dataclasses
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from hips import demonstrations, domains
from hips.cli import app
from hips.domains import Grids
from hips.errors import ConfigError, MissingExtraError, ModelError
from hips.models import bundle
from hips.models.bundle import Bundle
from hips.models.networks.assembly import Networks
from hips.models.networks.plan import NetworkPlan
from hips.models.networks.torch_runtime import TorchRuntime
from hips.models.networks.weights import WEIGHTS, load_weights, save_weights
from hips.planner import learned
from hips.planner.budget import Budget
from hips.planner.components import SearchSettings
from hips.planner.planner import Planner
from hips.seeding import stream
from hips.training.config import default_config, override
from hips.training.corpus import Corpus
from hips.training.export import export_bundle
from hips.training.networks import build_networks, network_plan
from hips.training.pipeline import Pipeline
from hips.training.progress import Reporter
from hips.training.world import World

TAUGHT = ("policy", "autoencoder", "vqvae")
SCHEDULE = ("steps=60", "validate_every=60", "learning_rate=3e-3")
SETTINGS = (
    *(f"{stage}.{setting}" for stage in TAUGHT for setting in SCHEDULE),
    "vqvae.num_codes=8",
    "policy.chunk=4",
    "horizon=4",
    "segmentation=events",
)
TILES = {"height": 2, "width": 3}
LEVELS = 6


@dataclass(frozen=True)
class Model:
    """A bundle, and the fp32 networks that it was made of."""

    folder: Path
    networks: Networks
    domain: domains.Domain

    def levels(self, count: int) -> Grids:
        return self.domain.sample(stream(5, "runtimes"), count)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Networks that learned just enough for the search to use their subgoals."""
    folder: Path = tmp_path_factory.mktemp("runtimes")
    domain = domains.create("sliding_tiles", **TILES)
    demos = demonstrations.collect(domain, count=100, seed=0, out=folder / "data")
    config = override(default_config(domain, "smoke"), SETTINGS)
    world = World(0, 1, torch.device("cpu"))
    run = Pipeline(config, demos, folder / "run", world, Reporter(None)).run(TAUGHT)
    examples = Corpus.build(demos.trajectories("validation"), domain)
    export_bundle(run, domain, examples, folder / "model", {"data": {}})
    return Model(folder / "model", run.networks, domain)


def test_outputs_agree_with_onnx_runtime(model: Model) -> None:
    onnx, ours = bundle.load(model.folder).runtime, TorchRuntime(model.networks, "cpu")
    states = model.levels(16)
    later = states[::-1]  # an array that runs backwards
    states.flags.writeable = False
    parents, codes = np.arange(24) % 16, np.arange(24) % 8
    answers = [
        (
            *runtime.policy(states, later),
            *runtime.prior(states),
            runtime.decode(states, parents, codes),
            runtime.heuristic(states),
            runtime.dynamics(states, np.arange(16) % 4),
            *runtime.detector(states),
            runtime.encode(states, later),
        )
        for runtime in (onnx, ours)
    ]
    for expected, found in zip(*answers, strict=True):
        assert expected.dtype == found.dtype
        assert found.flags.c_contiguous
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)
    assert onnx.calls == ours.calls == dict.fromkeys(ours.calls, 1)


def _search(loaded: Bundle, levels: Grids) -> tuple[list[object], list[Grids]]:
    """How each search went, and the states of every round of expansions."""
    expanded: list[Grids] = []
    prior = loaded.runtime.prior

    def spy(states: Grids) -> tuple[np.ndarray, np.ndarray]:
        expanded.append(states)
        return prior(states)

    loaded.runtime.prior = spy  # type: ignore[method-assign]
    planner = Planner(loaded.domain, learned.components(loaded))
    results = planner.solve_many(list(levels), Budget(200), batch=3)
    timeless = {"seconds": 0.0, "phases": {}}
    return [
        dataclasses.replace(result, statistics=dataclasses.replace(result.statistics, **timeless))
        for result in results
    ], expanded


def test_searches_decide_the_same(model: Model) -> None:
    onnx = bundle.load(model.folder)
    ours = dataclasses.replace(onnx, runtime=TorchRuntime(model.networks, "cpu"))
    levels = model.levels(LEVELS)
    expected, rounds = _search(onnx, levels)
    found, our_rounds = _search(ours, levels)
    assert expected == found
    assert any(result.statistics.subgoal_expansions for result in expected)
    assert len(rounds) == len(our_rounds)
    assert all(np.array_equal(a, b) for a, b in zip(rounds, our_rounds, strict=True))


def test_the_fp16_weights_of_a_bundle_solve(model: Model) -> None:
    stored = load_file(model.folder / WEIGHTS)
    assert {v.dtype for v in stored.values() if v.is_floating_point()} == {torch.float16}
    loaded = bundle.load(model.folder, device="auto")
    assert isinstance(loaded.runtime, TorchRuntime)
    states = model.levels(8)
    expected = bundle.load(model.folder).runtime.heuristic(states)
    np.testing.assert_allclose(loaded.runtime.heuristic(states), expected, rtol=0.02)
    settings = SearchSettings(device="cpu")
    planner = Planner.load("sliding_tiles", model=model.folder, settings=settings, **TILES)
    assert all(result.solved for result in planner.solve_many(list(states)))


@pytest.mark.parametrize("device", ["cuda:99", "abacus", "meta"])
def test_devices_that_are_not_there(model: Model, device: str) -> None:
    with pytest.raises(ConfigError, match=rf"'{device}' cannot be used.*auto, cpu"):
        bundle.load(model.folder, device=device)


def test_int8_needs_no_device(model: Model) -> None:
    with pytest.raises(ConfigError, match="int8"):
        bundle.load(model.folder, precision="int8", device="cpu")


def test_a_device_without_torch(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hips.models.networks.torch_runtime", None)
    assert bundle.load(model.folder).runtime.heuristic(model.levels(1)).shape == (1,)
    with pytest.raises(MissingExtraError, match=r"hips-epsilon\[train\]"):
        bundle.load(model.folder, device="cpu")


def test_solving_loads_torch_only_if_asked_for(model: Model) -> None:
    code = (
        "import sys; from hips.planner.planner import Planner; "
        f"planner = Planner.load('sliding_tiles', model={str(model.folder)!r}, height=2, width=3); "
        "assert planner.solve([[1, 0, 2], [3, 4, 5]]).solved; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_line_passes_the_device_on(model: Model) -> None:
    arguments = ["solve", "sliding_tiles", "--set", "height=2", "--set", "width=3", "--device"]
    chosen = ["--model", str(model.folder)]
    assert CliRunner().invoke(app, [*arguments, "cpu", *chosen]).exit_code == 0
    refused = CliRunner().invoke(app, [*arguments, "abacus", *chosen])
    assert isinstance(refused.exception, ConfigError)


def test_a_card_describes_the_networks_of_its_configuration(model: Model) -> None:
    card = bundle.read_card(model.folder)
    config = override(default_config(model.domain, "smoke"), SETTINGS)
    plan = NetworkPlan.of(card["configuration"])
    assert plan == network_plan(config)
    del card["configuration"]["network"]["motion"]  # older models had none and do not name it
    assert NetworkPlan.of(card["configuration"]).sizes == dataclasses.replace(plan.sizes, motion=0)
    card["configuration"]["network"]["wings"] = 2
    with pytest.raises(ModelError, match="wings"):
        NetworkPlan.of(card["configuration"])


def test_weights_that_cannot_be_loaded(model: Model, tmp_path: Path) -> None:
    config = override(default_config(model.domain, "smoke"), SETTINGS)
    with pytest.raises(ModelError, match="is missing"):
        load_weights(model.networks, tmp_path)
    larger = build_networks(model.domain.spec, override(config, ["vqvae.num_codes=9"]))
    with pytest.raises(ModelError, match=r"other sizes .*\[8\] in the file and \[9\]"):
        load_weights(larger, model.folder)
    (tmp_path / WEIGHTS).write_bytes((model.folder / WEIGHTS).read_bytes()[:5000])
    with pytest.raises(ModelError, match="damaged"):
        load_weights(model.networks, tmp_path)


def test_what_fp16_cannot_hold_stays_whole(model: Model, tmp_path: Path) -> None:
    config = override(default_config(model.domain, "smoke"), SETTINGS)
    networks, again = (build_networks(model.domain.spec, config) for _ in range(2))
    with torch.no_grad():
        networks.detector.distance_bias.fill_(1e6)
    save_weights(networks, tmp_path)
    load_weights(again, tmp_path)
    assert torch.equal(again.detector.distance_bias, networks.detector.distance_bias)
