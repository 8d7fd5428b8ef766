"""All stages of a training: their order, what they need, and that each of them learns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from hips import parts
from hips.data import Demonstrations
from hips.errors import ConfigError
from hips.files import read_json
from hips.models import bundle
from hips.parts.heuristic.adapter import LearnedHeuristic
from hips.training.config import TrainingConfig, override
from hips.training.contract import StageSpec
from hips.training.corpus import Corpus
from hips.training.loop import StageReport
from hips.training.model_folder import export_model
from hips.training.pipeline import (
    build_networks,
    check_needs,
    is_finished,
    open_run,
    ordered_stages,
    run_stages,
)
from hips.training.progress import Reporter
from hips.training.timing import Timetable
from hips.training.workshop import Workshop
from tests.models.untrained import workshop
from tests.training.conftest import SHIPPED, STAGES

PARTS = parts.known(SHIPPED)


def run_all(
    config: TrainingConfig, demos: Demonstrations, folder: Path
) -> tuple[Workshop, dict[str, StageReport]]:
    networks = build_networks(PARTS, config, demos.domain.spec)
    work = workshop(demos.domain, config, networks, folder)
    work.train, work.valid = (
        Corpus.build(demos.trajectories(split), demos.domain) for split in ("train", "validation")
    )
    return work, run_stages(work, ordered_stages(PARTS, config), STAGES, Reporter(None))


def weights(networks: dict[str, nn.Module]) -> dict[str, torch.Tensor]:
    return {
        f"{part}.{name}": value
        for part, network in networks.items()
        for name, value in network.state_dict().items()
    }


@pytest.mark.usefixtures("few_samples")
def test_same_seed_same_weights_and_the_model_agrees(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    work, reports = run_all(config, demos, tmp_path / "a")
    second, _ = run_all(config, demos, tmp_path / "b")
    assert set(reports) == set(STAGES)
    found = weights(dict(second.networks))
    for name, value in weights(dict(work.networks)).items():
        assert torch.equal(value, found[name]), name
    states = demos.starts[:8]
    export_model(work, reports, None, tmp_path / "model", {}, {"data": {}})
    loaded = bundle.load(tmp_path / "model")
    with torch.no_grad():
        expected = work.networks["heuristic"](torch.from_numpy(states)).numpy()
    distances = LearnedHeuristic(loaded.runtime()).distances(states)
    np.testing.assert_allclose(distances, expected, rtol=1e-4)
    assert loaded.card.parts["subgoals"].training["discrete"]["steps"] == 6
    assert set(loaded.card.parts["reach_policy"].training) == {"imitation", "chunking"}


@pytest.mark.usefixtures("few_samples")
def test_each_stage_overfits_ten_trajectories(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    few = replace(demos.select(np.arange(11)), validation=np.arange(11) == 10)
    longer = [
        f"{stage}.{setting}"
        for stage in STAGES
        for setting in ("steps=250", "validate_every=250", "learning_rate=3e-3")
    ]
    own = [
        "detector.training.steps=30",
        "subgoals.continuous.steps=180",
        "subgoals.discrete.steps=150",
        "heuristic.training.steps=150",
    ]
    config = override(config, [*longer, *own])
    corpus = Corpus.build(few.trajectories("train"), few.domain)
    networks = build_networks(PARTS, config, few.domain.spec)
    work = workshop(few.domain, config, networks, tmp_path, corpus)
    reports = run_stages(work, ordered_stages(PARTS, config), STAGES, Reporter(None))
    metrics = {name: report.metrics for name, report in reports.items()}
    assert metrics["reach_policy.imitation"]["first_accuracy"] > 0.98
    detector = metrics["detector.training"]
    # A detector that has learned nothing is 0.8 away from the exact segmentation.
    best = detector["exact_objective"]
    assert best - 0.4 < detector["objective"] <= best
    assert detector["first_accuracy"] > 0.98
    assert metrics["reach_policy.chunking"]["first_accuracy"] > 0.98
    assert metrics["reach_policy.chunking"]["chunk_accuracy"] > 0.75
    assert metrics["reach_policy.chunking"]["reach_accuracy"] > 0.85
    assert metrics["subgoals.continuous"]["exact"] > 0.9
    assert metrics["subgoals.discrete"]["exact"] > 0.9
    assert metrics["subgoals.discrete"]["perplexity"] > 2.0
    assert metrics["prior.training"]["code_accuracy"] > 0.95
    assert metrics["prior.training"]["action_accuracy"] > 0.95
    assert metrics["heuristic.training"]["error"] < 1.0
    assert metrics["heuristic.training"]["spearman"] > 0.98
    assert metrics["dynamics.training"]["exact"] > 0.85


def nothing(workshop: Workshop) -> None:
    raise AssertionError("not to be built")


def spec(name: str, *needs: str, after: tuple[str, ...] = ()) -> StageSpec:
    return StageSpec(name, nothing, needs, after)  # type: ignore[arg-type]


class Planned:
    """A part with given stages."""

    def __init__(self, *stages: StageSpec) -> None:
        self.planned = stages

    def stages(self, config: TrainingConfig) -> tuple[StageSpec, ...]:
        return self.planned


def test_stages_come_after_what_they_need_or_follow(config: TrainingConfig) -> None:
    planned = {
        "a": Planned(spec("a.one", "b.one"), spec("a.two", after=("c.one", "x.absent"))),
        "b": Planned(spec("b.one", "y.absent")),
        "c": Planned(spec("c.one", "a.one")),
    }
    found = [stage.name for stage in ordered_stages(planned, config)]  # type: ignore[arg-type]
    assert found == ["b.one", "a.one", "c.one", "a.two"]
    circle = {"a": Planned(spec("a.one", "b.one")), "b": Planned(spec("b.one", after=("a.one",)))}
    with pytest.raises(ConfigError, match=r"depend on each other: a\.one, b\.one"):
        ordered_stages(circle, config)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["events", "exact", "detector"])
def test_the_stages_that_ship_come_in_a_sound_order(config: TrainingConfig, method: str) -> None:
    chosen = override(config, [f"segmentation.method={method}"])
    for known in (PARTS, {name: PARTS[name] for name in reversed(SHIPPED)}):
        found = [stage.name for stage in ordered_stages(known, chosen)]
        assert sorted(found) == sorted(STAGES)
        order = [
            "reach_policy.imitation",
            "detector.training",  # it teaches the policy as well
            "subgoals.continuous",
            "subgoals.discrete",
            "prior.training",
            "reach_policy.chunking",
        ]
        places = [found.index(name) for name in order]
        assert places == sorted(places)
        assert found.index("heuristic.training") > found.index("prior.training")


def test_a_choice_that_lacks_what_it_needs_is_refused() -> None:
    stages = [spec("a.one"), spec("b.one", "a.one")]
    check_needs(stages, ["a.one", "b.one"], [])
    check_needs(stages, ["b.one"], ["a.one"])
    check_needs(stages, ["a.one"], [])
    with pytest.raises(ConfigError, match=r"'b\.one' needs 'a\.one' first"):
        check_needs(stages, ["b.one"], [])


def test_chunking_is_left_out_without_a_generator(config: TrainingConfig) -> None:
    alone = replace(config, parts={"reach_policy": config.parts["reach_policy"]})
    found = [stage.name for stage in PARTS["reach_policy"].stages(alone)]
    assert found == ["reach_policy.imitation"]


def test_finished_stages_are_loaded_and_others_left_out(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    known = {name: PARTS[name] for name in ("dynamics", "heuristic")}
    config = replace(config, parts={name: config.parts[name] for name in known})

    def run(*chosen: str) -> tuple[dict[str, nn.Module], dict[str, StageReport]]:
        networks = build_networks(known, config, demos.domain.spec)
        work = workshop(demos.domain, config, networks, tmp_path)
        stages = ordered_stages(known, config)
        return networks, run_stages(work, stages, chosen, Reporter(None))

    first, reports = run("dynamics.training")
    assert set(reports) == {"dynamics.training"}
    assert is_finished(tmp_path, "dynamics.training")
    assert not is_finished(tmp_path, "heuristic.training")
    second, reports = run("heuristic.training")
    assert set(reports) == {"dynamics.training", "heuristic.training"}
    for name, value in first["dynamics"].state_dict().items():
        assert torch.equal(value, second["dynamics"].state_dict()[name]), name


def test_a_run_folder_is_not_taken_over(config: TrainingConfig, tmp_path: Path) -> None:
    open_run(tmp_path, config, PARTS, resume=False)
    open_run(tmp_path, config, PARTS, resume=True)
    with pytest.raises(ConfigError, match="--resume"):
        open_run(tmp_path, config, PARTS, resume=False)
    with pytest.raises(ConfigError, match=r"'parts\.subgoals\.num_codes' differs"):
        open_run(tmp_path, override(config, ["subgoals.num_codes=5"]), PARTS, resume=True)
    with pytest.raises(ConfigError, match=r"'segmentation\.ahead' differs"):
        open_run(tmp_path, override(config, ["segmentation.ahead=2"]), PARTS, resume=True)


def test_schedules_may_change_until_their_stage_has_begun(
    config: TrainingConfig, tmp_path: Path
) -> None:
    """Finished stages are kept when a later one gets other steps."""
    open_run(tmp_path, config, PARTS, resume=False)
    begun = tmp_path / "reach_policy.imitation"
    begun.mkdir()
    (begun / "best.safetensors").touch()
    later = override(config, ["prior.training.steps=77"])
    open_run(tmp_path, later, PARTS, resume=True)
    assert read_json(tmp_path / "config.json")["parts"]["prior"]["training"]["steps"] == 77
    earlier = override(later, ["reach_policy.imitation.steps=77"])
    with pytest.raises(ConfigError, match=r"'parts\.reach_policy\.imitation\.steps' differs"):
        open_run(tmp_path, earlier, PARTS, resume=True)


@pytest.mark.usefixtures("few_samples")
def test_a_time_limit_shortens_stages_and_an_interrupted_one_keeps_its_steps(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    config = override(config, ["dynamics.training.steps=400"])
    networks = build_networks(PARTS, config, demos.domain.spec)
    work = workshop(demos.domain, config, networks, tmp_path)
    stage = [one for one in ordered_stages(PARTS, config) if one.name == "dynamics.training"]
    (tmp_path / stage[0].name).mkdir()
    (tmp_path / stage[0].name / "fitted.json").write_text('{"steps": 40}')
    begun = Timetable({stage[0].name: 100.0}, limit=1e6, started=0.0)
    reports = run_stages(work, stage, [stage[0].name], Reporter(None), (), begun)
    assert reports[stage[0].name].steps == 40
    assert begun.seconds == {}
