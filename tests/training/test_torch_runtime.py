"""Networks run by torch and graphs run by ONNX Runtime decide the same."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from typer.testing import CliRunner

from hips import domains, parts
from hips.arrays import Grids
from hips.cli import app
from hips.errors import ConfigError, MissingExtraError, ModelError
from hips.methods.base import Execution, Wiring
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.methods.wiring import search_solver
from hips.models import bundle
from hips.models.card import WEIGHTS, read_card
from hips.models.runtime import Array, GraphRuntime
from hips.parts.detector.adapter import LearnedDetector
from hips.parts.dynamics.adapter import LearnedDynamics
from hips.parts.heuristic.adapter import LearnedHeuristic
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.parts.subgoals.adapter import ENCODER, decode
from hips.planner.budget import Budget
from hips.planner.result import Result
from hips.planner.settings import Settings, defaults
from hips.seeding import stream
from hips.training import torch_runtime
from hips.training.config import TrainingConfig, build, default_config, override
from hips.training.corpus import Corpus
from hips.training.model_folder import export_model
from hips.training.pipeline import build_networks, ordered_stages, run_stages
from hips.training.progress import Reporter
from hips.training.scoring import held_out
from hips.training.torch_runtime import TorchRuntime, open_on_device
from hips.training.weights import load_weights, save_weights
from tests.models.untrained import workshop
from tests.training.conftest import SHIPPED, take_few_samples

TAUGHT = ("reach_policy.imitation", "subgoals.continuous", "subgoals.discrete")
SCHEDULE = ("steps=60", "validate_every=60", "learning_rate=3e-3")
SETTINGS = (
    *(f"{stage}.{setting}" for stage in TAUGHT for setting in SCHEDULE),
    "subgoals.num_codes=8",
    "prior.num_codes=8",
    "reach_policy.chunk=4",
    "horizon=4",
)
TILES = {"height": 2, "width": 3}
LEVELS = 6
CPU = torch.device("cpu")
PARTS = parts.known(SHIPPED)


def tiles_config(*settings: str) -> TrainingConfig:
    domain = domains.create("sliding_tiles", **TILES)
    return override(default_config(domain, PARTS, "smoke"), [*SETTINGS, *settings])


@dataclass(frozen=True)
class Model:
    """A model, and the fp32 networks that it was made of."""

    folder: Path
    networks: Mapping[str, nn.Module]
    domain: domains.Domain

    def levels(self, count: int) -> Grids:
        return self.domain.sample(stream(5, "runtimes"), count)

    def torch(self) -> TorchRuntime:
        return TorchRuntime(PARTS, self.networks, CPU)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Networks that learned just enough for the search to use their subgoals."""
    folder: Path = tmp_path_factory.mktemp("runtimes")
    domain = domains.create("sliding_tiles", **TILES)
    config = tiles_config()
    networks = build_networks(PARTS, config, domain.spec)
    data = Corpus.build(held_out(domain, 100, 0, 1.0), domain)
    work = workshop(domain, config, networks, folder / "run", data)
    with pytest.MonkeyPatch.context() as patch:
        take_few_samples(patch)
        reports = run_stages(work, ordered_stages(PARTS, config), TAUGHT, Reporter(None))
    export_model(work, reports, None, folder / "model", {}, {"data": {}})
    return Model(folder / "model", networks, domain)


def answers(runtime: GraphRuntime, states: Grids, later: Grids) -> list[Array]:
    """What all graphs say."""
    count = len(states)
    foresight = LearnedReachPolicy(runtime).act(states, later)
    assert foresight.reachable is not None
    return [
        foresight.log_probabilities,
        foresight.reachable,
        *LearnedPrior(runtime).evaluate(states),
        decode(runtime, states, np.arange(24) % count, np.arange(24) % 8),
        LearnedHeuristic(runtime).distances(states),
        LearnedDynamics(runtime).step(states, np.arange(count) % 4),
        LearnedDetector(runtime).score(states, later),
        *runtime.rowwise(ENCODER, states=states, subgoals=later),
    ]


def test_a_call_of_many_rows_is_made_some_rows_at_a_time(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = model.levels(16)
    whole = answers(model.torch(), states, states[::-1])
    monkeypatch.setattr(torch_runtime, "ROWS_AT_ONCE", 5)
    cut = answers(model.torch(), states, states[::-1])
    for expected, found in zip(whole, cut, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    nothing = model.torch().rowwise(ENCODER, states=states[:0], subgoals=states[:0])
    assert [len(one) for one in nothing] == [0]


def test_outputs_agree_with_onnx_runtime(model: Model) -> None:
    onnx, ours = bundle.load(model.folder).runtime(), model.torch()
    states = model.levels(16)
    later = states[::-1]  # an array that runs backwards
    states.flags.writeable = False
    pairs = zip(answers(onnx, states, later), answers(ours, states, later), strict=True)
    for expected, found in pairs:
        assert expected.dtype == found.dtype
        assert found.flags.c_contiguous
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)


def test_sixteen_bits_say_nearly_the_same(model: Model) -> None:
    reduced = TorchRuntime(PARTS, model.networks, CPU, torch.bfloat16)
    states = model.levels(16)
    full, found = (LearnedPrior(one).evaluate(states)[1] for one in (model.torch(), reduced))
    assert not np.array_equal(full, found)
    np.testing.assert_allclose(np.exp(found), np.exp(full), atol=0.05)
    for one in answers(reduced, states, states[::-1]):
        assert one.dtype in (np.float32, np.float64, np.int64, np.uint8)


class Spy(GraphRuntime):
    """Notes the states that the prior of another runtime is asked about."""

    def __init__(self, inner: GraphRuntime) -> None:
        super().__init__({})
        self.inner, self.expanded = inner, list[Grids]()

    def __contains__(self, graph: str) -> bool:
        return graph in self.inner

    def call(self, graph: str, inputs: Mapping[str, Array]) -> list[Array]:
        if graph == "prior":
            self.expanded.append(inputs["states"])
        return self.inner.call(graph, inputs)


def search(model: Model, runtime: GraphRuntime, levels: Grids) -> tuple[list[Result], list[Grids]]:
    """How each search went, and the states of every round of expansions."""
    spy = Spy(runtime)
    settings = Settings(horizon=4, precision="fp32").completed(defaults())
    wiring = Wiring(model.domain, settings, spy, Execution(batch=3))
    solver = search_solver(wiring, subgoals=True, actions=True)
    results = solver.solve_many(model.domain, list(levels), Budget(200))
    timeless = {"seconds": 0.0, "elapsed_seconds": 0.0, "phases": {}}
    return [
        dataclasses.replace(result, statistics=dataclasses.replace(result.statistics, **timeless))
        for result in results
    ], spy.expanded


def test_searches_decide_the_same(model: Model) -> None:
    levels = model.levels(LEVELS)
    expected, rounds = search(model, bundle.load(model.folder).runtime(), levels)
    found, our_rounds = search(model, model.torch(), levels)
    assert expected == found
    assert any(result.statistics.subgoal_expansions for result in expected)
    assert len(rounds) == len(our_rounds) > 1
    assert all(np.array_equal(a, b) for a, b in zip(rounds, our_rounds, strict=True))


def test_the_fp16_weights_of_a_model_solve(model: Model) -> None:
    stored = load_file(model.folder / WEIGHTS)
    assert {v.dtype for v in stored.values() if v.is_floating_point()} == {torch.float16}
    loaded = bundle.load(model.folder)
    states = model.levels(8)
    exact = LearnedHeuristic(loaded.runtime()).distances(states)
    halved = LearnedHeuristic(open_on_device(loaded, PARTS, "auto")).distances(states)
    np.testing.assert_allclose(halved, exact, rtol=0.02)
    assert not np.array_equal(halved, exact)
    choice = Choice(model=model.folder, execution=Execution(device="cpu", threads=1))
    results = Planner(model.domain, choice).solve_many(list(states))
    assert all(result.solved for result in results)
    assert results[0].provenance.machine["device"] == "cpu"
    assert results[0].provenance.settings["precision"] == "fp32"


@pytest.mark.parametrize("device", ["cuda:99", "abacus", "meta"])
def test_devices_that_are_not_there(model: Model, device: str) -> None:
    message = rf"'{device}'.*auto, cpu"
    with pytest.raises(ConfigError, match=message):
        open_on_device(bundle.load(model.folder), PARTS, device)
    with pytest.raises(ConfigError, match=message):
        Planner(model.domain, Choice(model=model.folder, execution=Execution(device=device)))


def test_int8_needs_no_device(model: Model) -> None:
    choice = Choice(
        settings=Settings(precision="int8"), model=model.folder, execution=Execution(device="cpu")
    )
    with pytest.raises(ConfigError, match="int8"):
        Planner(model.domain, choice)


def test_a_device_without_torch(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hips.training.torch_runtime", None)
    assert Planner(model.domain, Choice(model=model.folder)).solve(model.levels(1)[0]).solved
    with pytest.raises(MissingExtraError, match=r"hips-epsilon\[train\]"):
        Planner(model.domain, Choice(model=model.folder, execution=Execution(device="cpu")))


def test_solving_loads_torch_only_if_asked_for(model: Model) -> None:
    code = (
        "import sys; from hips.methods.planner import Planner; "
        f"planner = Planner.load('sliding_tiles', model={str(model.folder)!r}, height=2, width=3); "
        "result = planner.solve([[1, 0, 2], [3, 4, 5]]); assert result.solved; "
        "assert result.provenance.method == 'portfolio'; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_line_passes_the_device_on(model: Model) -> None:
    sizes = ["--set", "height=2", "--set", "width=3"]
    arguments = ["solve", "sliding_tiles", *sizes, "--threads", "1", "--device"]
    chosen = ["--model", str(model.folder)]
    assert CliRunner().invoke(app, [*arguments, "cpu", *chosen]).exit_code == 0
    refused = CliRunner().invoke(app, [*arguments, "abacus", *chosen])
    assert isinstance(refused.exception, ConfigError)


def test_a_card_describes_the_networks_of_its_configuration(model: Model) -> None:
    card = read_card(model.folder)
    for name, expected in tiles_config().parts.items():
        found = build(PARTS[name].config_type, card.parts[name].configuration)
        assert found == expected, name
    entry = card.parts["subgoals"]
    older = {**entry.configuration, "trunk": {"channels": 16, "blocks": 2}}
    renamed = dataclasses.replace(
        card, parts={"subgoals": dataclasses.replace(entry, configuration={**older, "wings": 2})}
    )
    loaded = dataclasses.replace(bundle.load(model.folder), card=renamed)
    with pytest.raises(ConfigError, match="wings"):
        open_on_device(loaded, PARTS, "cpu")


def test_parts_of_a_plug_in_that_is_not_loaded_are_named(model: Model) -> None:
    known = {name: part for name, part in PARTS.items() if name != "dynamics"}
    with pytest.raises(ModelError, match=r"an unknown part 'dynamics'.*plug-in"):
        open_on_device(bundle.load(model.folder), known, "cpu")


def test_weights_that_cannot_be_loaded(model: Model, tmp_path: Path) -> None:
    loaded = bundle.load(model.folder)
    spec = model.domain.spec
    larger = build_networks(PARTS, tiles_config("subgoals.num_codes=9"), spec)
    with pytest.raises(ModelError, match=r"in the file and .* in the network"):
        load_weights(larger, loaded)
    networks = build_networks(PARTS, tiles_config(), spec)
    elsewhere = dataclasses.replace(loaded, folder=tmp_path)
    with pytest.raises(ModelError, match=r"has no weights\.safetensors"):
        load_weights(networks, elsewhere)
    (tmp_path / WEIGHTS).write_bytes((model.folder / WEIGHTS).read_bytes()[:5000])
    with pytest.raises(ModelError, match="damaged"):
        load_weights(networks, elsewhere)
    without = dataclasses.replace(loaded, card=dataclasses.replace(loaded.card, files={}))
    with pytest.raises(ModelError, match=f"has no {WEIGHTS}"):
        load_weights(networks, without)


def test_what_fp16_cannot_hold_stays_whole(model: Model, tmp_path: Path) -> None:
    networks, again = (build_networks(PARTS, tiles_config(), model.domain.spec) for _ in range(2))
    bias = networks["detector"].get_parameter("trunk.stem.bias")
    with torch.no_grad():
        bias.fill_(1e6)
    save_weights(networks, tmp_path)
    load_weights(again, dataclasses.replace(bundle.load(model.folder), folder=tmp_path))
    assert torch.equal(again["detector"].state_dict()["trunk.stem.bias"], bias)
