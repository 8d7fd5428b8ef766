"""A method of somebody else, in one file: trained, exported, scored and used as those that ship."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import hips
from hips import domains, methods, parts, plugins
from hips.domains import replay
from hips.engines import LocalEngine
from hips.errors import ConfigError, HipsError, ModelError
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.jobs import SolveJob
from hips.methods.planner import Planner
from hips.methods.streams import solve_on
from hips.models import bundle
from hips.models.card import WEIGHTS, read_card
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver
from hips.planner.settings import Settings
from hips.seeding import stream
from hips.training import scoring
from hips.training.config import TrainingConfig, default_config, from_json, override, to_json
from hips.training.run import TrainedRun, TrainingJob, train
from hips.training.torch_runtime import open_on_device
from tests.parts import test_contract as contract
from tests.training.conftest import SHIPPED

PLUGIN = Path(__file__).parent / "plugins" / "toy_method.py"
PART, METHOD = "toy_foresight", "toy"
TILES = domains.create("sliding_tiles", height=2, width=3)


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """The plug-in is known here, and to no other test."""
    parts.names(), methods.names()
    with pytest.MonkeyPatch.context() as patch:
        for registry in (parts._REGISTRY, methods._REGISTRY):
            patch.setattr(registry, "_entries", dict(registry._entries))
        patch.setattr(plugins, "_LOADED", {})
        torch.set_num_threads(1)
        plugins.load(PLUGIN)
        yield


def toy_config(*settings: str) -> TrainingConfig:
    own = [f"{PART}.training.steps=300", f"{PART}.training.validate_every=100"]
    config = default_config(TILES, parts.known([PART]), "smoke")
    return override(config, [*own, *settings])


def toy_job(out: Path) -> TrainingJob:
    return TrainingJob(TILES, toy_config(), parts.known(), out, device="cpu", threads=1)


@pytest.fixture(scope="module")
def trained(registered: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainedRun, Path]:
    folder: Path = tmp_path_factory.mktemp("toy")
    return train(toy_job(folder)), folder / "model"


def choice(model: Path, **changes: object) -> Choice:
    usual = Choice(method=METHOD, model=model, execution=Execution(threads=1))
    return dataclasses.replace(usual, **changes)  # type: ignore[arg-type]


def levels(count: int) -> list[np.ndarray]:
    return list(TILES.sample(stream(3, "plug-in"), count))


def test_the_package_knows_nothing_of_it() -> None:
    root = Path(hips.__file__).parent
    assert len(list(root.rglob("*.py"))) > 100
    for path in root.rglob("*.py"):
        text = path.read_text()
        assert PART not in text, path
        assert "toy_method" not in text, path


def test_a_plug_in_is_found_by_name() -> None:
    assert plugins.loaded() == (PLUGIN,)
    plugins.load(PLUGIN)  # loading it again does nothing
    assert plugins.loaded() == (PLUGIN,)
    assert PART in parts.names()
    assert PART not in parts.defaults()
    assert METHOD in methods.names()
    config = toy_config(f"{PART}.width=16")
    assert config.parts[PART].width == 16
    assert from_json(to_json(config), parts.known()) == config


def test_names_that_are_taken_are_refused(tmp_path: Path) -> None:
    again = Path(shutil.copy(PLUGIN, tmp_path / "again.py"))
    with pytest.raises(ConfigError, match=f"'{PART}' is already registered"):
        plugins.load(again)
    assert again not in plugins.loaded()
    broken = tmp_path / "broken.py"
    broken.write_text("import nothing_of_the_kind")
    with pytest.raises(HipsError, match=r"broken\.py: the plug-in failed to load"):
        plugins.load(broken)


def test_its_part_keeps_the_contract_of_parts(tmp_path: Path) -> None:
    for name in contract.DOMAINS:
        contract.test_configurations_are_frozen_data_that_survive_json(PART, "smoke", name)
        contract.test_networks_are_built_from_data_alone(PART, name)
        contract.test_graphs_are_exported_and_agree_with_torch(PART, name, tmp_path)
    contract.test_a_part_says_what_it_is(PART)
    contract.test_a_configuration_has_defaults_schedules_and_sizes(PART)
    contract.test_the_structure_is_the_same_at_every_size(PART, TILES)


def test_it_learns_is_exported_and_scored(trained: tuple[TrainedRun, Path]) -> None:
    run, model = trained
    assert set(run.reports) == {f"{PART}.training"}
    assert run.card is not None
    assert read_card(model) == run.card
    entry = run.card.parts[PART]
    assert entry.graphs == {PART: {"fp32": f"{PART}.onnx"}}
    assert set(run.card.files) == {f"{PART}.onnx", WEIGHTS}
    assert entry.training["training"]["steps"] == 300
    # Of the two or three moves that change anything, the demonstrator's is foreseen.
    assert entry.scores["foreseen"] > 0.75
    again = scoring.score(bundle.load(model), parts.known())
    assert again[PART] == entry.scores


def test_it_solves(trained: tuple[TrainedRun, Path]) -> None:
    run, model = trained
    assert run.card is not None
    starts = levels(12)
    results = Planner(TILES, choice(model)).solve_many(starts)
    assert all(result.solved for result in results)
    for start, result in zip(starts, results, strict=True):
        assert result.plan is not None
        actions = TILES.spec.action_indices(result.plan)
        assert TILES.is_goal(replay(TILES, start, actions)[-1:])[0]
    assert results[0].provenance.method == METHOD
    assert results[0].provenance.model == run.card.fingerprint()
    assert results[0].provenance.settings == {
        "evaluation": "levin_ts",
        "epsilon": 0.1,
        "precision": "int8",
    }
    segments = [segment for result in results for segment in result.segments]
    jumps = [segment for segment in segments if segment.kind == "subgoal"]
    assert len(jumps) > len(starts)
    assert max(segment.steps for segment in jumps) == 3
    assert all(result.statistics.network_rows > 0 for result in results)


def test_what_it_learned_helps(trained: tuple[TrainedRun, Path]) -> None:
    """With its subgoals the search expands far fewer nodes than with single actions."""
    starts = levels(12)
    own = Planner(TILES, choice(trained[1])).solve_many(starts)
    plain = Planner(TILES, Choice(method="low_level")).solve_many(starts)
    expanded = [sum(r.statistics.expansions for r in found) for found in (own, plain)]
    assert 2 * expanded[0] < expanded[1]


def test_its_settings_are_its_own(trained: tuple[TrainedRun, Path]) -> None:
    wanted = Settings(epsilon=0.5, evaluation="levin_ts")
    result = Planner(TILES, choice(trained[1], settings=wanted)).solve(levels(1)[0])
    assert result.solved
    assert result.provenance.settings["epsilon"] == 0.5
    with pytest.raises(ConfigError, match=f"'{METHOD}' has no setting 'top_p'"):
        Planner(TILES, choice(trained[1], settings=Settings(top_p=0.5)))


def test_other_processes_know_it_too(trained: tuple[TrainedRun, Path]) -> None:
    starts = levels(4)
    job = SolveJob(choice(trained[1]))
    expected = job.solve(TILES, starts)
    results: dict[int, Result] = {}
    observer = ResultObserver(results.__setitem__)
    solve_on(LocalEngine(2), TILES, enumerate(starts), job, observer)
    found = [results[index] for index in range(len(starts))]
    assert [one.plan for one in found] == [one.plan for one in expected]
    assert all(one.solved for one in found)


def test_solving_with_it_needs_no_torch(trained: tuple[TrainedRun, Path]) -> None:
    code = f"""
import sys
sys.modules["torch"] = None  # importing it fails
from pathlib import Path
from hips import domains, plugins
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
plugins.load(Path({str(PLUGIN)!r}))
domain = domains.create("sliding_tiles", height=2, width=3)
planner = Planner(domain, Choice(method={METHOD!r}, model=Path({str(trained[1])!r})))
assert planner.solve([[1, 0, 2], [3, 4, 5]]).plan == ("left",)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)


def test_its_model_runs_on_a_device(trained: tuple[TrainedRun, Path]) -> None:
    starts = levels(4)
    execution = Execution(threads=1, device="cpu")
    results = Planner(TILES, choice(trained[1], execution=execution)).solve_many(starts)
    assert all(result.solved for result in results)
    assert results[0].provenance.settings["precision"] == "fp32"


def test_its_model_lacks_what_other_methods_need(trained: tuple[TrainedRun, Path]) -> None:
    with pytest.raises(ModelError, match=rf"'hips_eps' needs the part 'subgoals'.*has: {PART}\."):
        Planner(TILES, choice(trained[1], method="hips_eps"))
    assert Planner(TILES, Choice(model=trained[1])).solve(levels(1)[0]).solved


def test_other_models_lack_what_it_needs() -> None:
    tiles = domains.create("sliding_tiles")
    with pytest.raises(ModelError, match=f"'{METHOD}' needs the part '{PART}'"):
        Planner(tiles, Choice(method=METHOD))


def test_without_the_plug_in_its_part_is_named(trained: tuple[TrainedRun, Path]) -> None:
    loaded = bundle.load(trained[1])
    with pytest.raises(ModelError, match=f"part '{PART}'.*plug-in"):
        open_on_device(loaded, parts.known(SHIPPED), "cpu")
    assert set(scoring.score(loaded, parts.known(SHIPPED), count=2)) == {scoring.SHARED}


def test_parts_that_ship_can_be_trained_beside_it(
    trained: tuple[TrainedRun, Path], tmp_path: Path
) -> None:
    """Started from its model; its part is kept, bit by bit."""
    short = ["heuristic.training.steps=4", "heuristic.training.validate_every=2"]
    config = override(default_config(TILES, parts.known(["heuristic"]), "smoke"), short)
    job = dataclasses.replace(
        toy_job(tmp_path), config=config, warm_start=trained[1], data=[trained[1].parent / "data"]
    )
    run = train(job)
    assert run.card is not None
    assert set(run.card.parts) == {"heuristic", PART}
    assert run.card.parts[PART].scores.keys() == {"foreseen"}
    states = TILES.sample(stream(1, "kept"), 5)
    kept, before = (
        bundle.load(folder).runtime().rowwise(PART, states=states)[0]
        for folder in (tmp_path / "model", trained[1])
    )
    np.testing.assert_allclose(kept, before, atol=0.02)  # weights are kept as fp16
    assert Planner(TILES, choice(tmp_path / "model")).solve(levels(1)[0]).solved
