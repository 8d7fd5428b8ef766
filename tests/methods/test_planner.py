"""`Planner`: levels in any form, the best method at hand, and results that say what made them."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import hips
import tests.toys  # noqa: F401  (registers line_world)
from hips import domains, methods
from hips.errors import ConfigError, LevelError, ModelError, UnknownNameError
from hips.methods.base import Execution
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.parts.subgoals.adapter import VqGenerator
from hips.planner.budget import Budget
from hips.planner.components import Components
from hips.planner.generators import RepeatAction
from hips.planner.outcomes import Outcome
from hips.planner.policies import NearestStepPolicy, StateHeuristic
from hips.planner.result import Result
from hips.planner.rounds import Observer, Round, StopSearch
from hips.planner.settings import Settings

from .fakes import TableModel, install, line_card

LEVEL = "00100000"
SMALL, WIDE = [[1, 0], [2, 3]], [[1, 0, 2], [3, 4, 5]]


def two_codes() -> TableModel:
    """One code cannot be reached; the other, less likely, jumps two cells to the right."""
    return TableModel(np.array([[0.75, 0.25]]), unreachable=0)


@pytest.mark.parametrize("level", [LEVEL, [[0, 0, 1, 0, 0, 0, 0, 0]], np.eye(8, dtype=int)[2:3]])
def test_levels_come_as_text_lists_or_grids(level: Any) -> None:
    result = Planner.load("line_world").solve(level)
    assert result.plan == ("right",) * 5
    assert result.states[:, 0].argmax(axis=1).tolist() == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("level", ["0010", "001x0000", [[1, 2], [3]], [[0.5] * 8], [[-1] * 8], []])
def test_bad_levels_are_refused(level: Any) -> None:
    with pytest.raises(LevelError):
        Planner.load("line_world").solve(level)


def test_a_method_that_needs_a_model_says_so() -> None:
    for method in ("hips_eps", "hips", "phs_star", "bc"):
        with pytest.raises(ModelError, match="hips train line_world"):
            Planner.load("line_world", method=method)
    with pytest.raises(ModelError, match="nowhere"):
        Planner.load("line_world", model="nowhere")
    with pytest.raises(ConfigError, match=r"'low_level', which has no setting 'dynamics'.*hips"):
        Planner.load("line_world", settings=Settings(dynamics="hybrid"))
    with pytest.raises(ConfigError, match="'hybrid' needs a model with learned dynamics"):
        Planner.load("line_world", settings=Settings(dynamics="hybrid", generator="repeat_action"))
    with pytest.raises(UnknownNameError, match="hips_eps"):
        Planner.load("line_world", method="everything")


def test_a_method_whose_parts_the_model_lacks_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, two_codes(), line_card(parts=("prior", "heuristic")))
    with pytest.raises(ModelError, match="needs the part 'subgoals', which the model does not"):
        Planner.load("line_world", method="hips_eps")
    assert Planner.load("line_world").solve(LEVEL).provenance.method == "phs_star"


def test_a_learned_generator_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    model = two_codes()
    install(monkeypatch, model)
    settings = Settings(epsilon=1e-3, evaluation="levin_ts")
    result = Planner.load("line_world", settings=settings).solve(LEVEL)
    assert [segment.kind for segment in result.segments][:2] == ["subgoal", "subgoal"]
    assert result.plan == ("right",) * 5
    statistics = result.statistics
    assert model.rows["prior"] == statistics.expansions
    # Per node: the prior once, two codes, and the policy once for each of the two subgoals.
    assert statistics.network_rows == 5 * statistics.expansions == sum(model.rows.values())
    # Near the goal even the way to what cannot be reached leads through the goal.
    assert (statistics.proposals_kept, statistics.proposals_unreached) == (3, 1)


@pytest.mark.parametrize(
    ("method", "kinds", "graphs"),
    [
        ("hips", {"subgoal"}, {"prior", "decoder", "policy", "heuristic"}),
        ("phs_star", {"action"}, {"prior", "heuristic"}),
        ("bc", {"action"}, {"prior"}),
        ("low_level", {"action"}, set()),
    ],
)
def test_methods_use_the_parts_that_they_name(
    monkeypatch: pytest.MonkeyPatch, method: str, kinds: set[str], graphs: set[str]
) -> None:
    model = two_codes()
    if methods.get(method).parts:
        install(monkeypatch, model)
    planner = Planner.load("line_world", method=method)
    result = planner.solve(LEVEL, Budget(max_expansions=200))
    if method == "bc":  # both actions are equally likely, so it walks to the wall
        assert result.outcome is Outcome.OUT_OF_EXPANSIONS
    else:
        assert {segment.kind for segment in result.segments} == kinds
        assert result.plan == ("right",) * 5
    assert set(model.rows) == graphs
    assert result.statistics.network_rows == sum(model.rows.values())


def test_without_being_asked_the_best_method_that_is_possible_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = domains.create("line_world")
    assert Planner(line).solve(LEVEL).provenance.method == "low_level"
    own = Components(generator=RepeatAction(line))
    assert Planner(line, own=own).solve(LEVEL).provenance.method == "hips_eps"
    choice = Choice(settings=Settings(generator="random_legal"))
    assert Planner(line, choice).solve(LEVEL).provenance.method == "hips_eps"
    install(monkeypatch, two_codes())
    assert Planner(line).solve(LEVEL).provenance.method == "hips_eps"


def test_results_say_what_made_them(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = install(monkeypatch, two_codes(), line_card(top_p=0.9))
    choice = Choice(settings=Settings(epsilon=0.25), execution=Execution(threads=2))
    (result,) = Planner(domains.create("line_world"), choice).solve_many([LEVEL], seed=11)
    made_by = result.provenance
    assert (made_by.method, made_by.model) == ("hips_eps", bundle.card.fingerprint())
    assert made_by.settings["epsilon"] == 0.25
    assert made_by.settings["top_p"] == 0.9
    assert set(made_by.settings) == set(methods.get("hips_eps").settings)
    assert made_by.machine["threads"] == 2
    assert result.seed == 11


def test_named_settings_come_before_the_card_and_after_wishes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, two_codes(), line_card(top_p=0.9, chunk_confidence=0.5))
    choice = Choice(settings=Settings(top_p=0.8), named="paper")
    result = Planner(domains.create("line_world"), choice).solve(LEVEL)
    settings = result.provenance.settings
    assert (settings["top_p"], settings["chunk_confidence"]) == (0.8, 1.0)
    assert settings["close_on_generation"] is True
    assert settings["epsilon"] == domains.create("line_world").preset.epsilon


def test_components_of_ones_own_take_the_place_of_the_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = two_codes()
    install(monkeypatch, model)
    line = domains.create("line_world")
    zero = StateHeuristic(lambda state: 0.0)
    ready = Planner(line, own=Components(heuristic=zero)).prepare(line)
    expander: Any = ready.solver.expander  # type: ignore[attr-defined]
    assert expander.heuristic is zero
    assert isinstance(expander.generator, VqGenerator)
    jumps = RepeatAction(line)
    ready = Planner(line, own=Components(generator=jumps)).prepare(line)
    assert ready.solver.expander.generator is jumps  # type: ignore[attr-defined]


def test_solve_takes_parts_of_ones_own() -> None:
    line = domains.create("line_world")
    result = hips.solve(
        line,
        LEVEL,
        generator="repeat_action",
        heuristic=StateHeuristic(lambda state: float(7 - state[0].argmax())),
        settings=Settings(evaluation="gbfs"),
        reach_policy=NearestStepPolicy(line),
    )
    assert result.outcome is hips.Outcome.SOLVED
    assert result.provenance.settings["evaluation"] == "gbfs"
    assert {segment.kind for segment in result.segments} == {"subgoal"}
    assert hips.solve("line_world", LEVEL, budget=Budget(max_expansions=1)).outcome is (
        Outcome.OUT_OF_EXPANSIONS
    )
    with pytest.raises(ModelError, match="needs a heuristic"):
        hips.solve(line, LEVEL, generator="repeat_action", settings=Settings(evaluation="gbfs"))


def test_levels_of_several_sizes_in_one_call() -> None:
    planner = Planner.load("sliding_tiles", height=2, width=2)
    told: dict[int, Result] = {}
    rounds: list[list[int]] = []

    class Watcher(Observer):
        def on_round(self, round: Round) -> None:
            rounds.append(round.expanded.problems.tolist())

        def on_result(self, index: int, result: Result) -> None:
            told[index] = result

    results = planner.solve_many([SMALL, WIDE, SMALL], observer=Watcher())
    assert [result.plan for result in results] == [("left",)] * 3
    assert [told[index] for index in range(3)] == results
    assert rounds == [[0, 2], [1]]
    assert [result.states.shape[1:] for result in results] == [(2, 2), (2, 3), (2, 2)]


def test_a_model_of_another_size_is_not_used_and_the_result_says_so() -> None:
    result = Planner.load("sliding_tiles", height=2, width=2).solve(SMALL)
    assert result.provenance.method == "guided"
    assert result.provenance.model is None
    assert "searched by the domain's own estimate" in result.provenance.note
    with pytest.raises(ModelError, match="--method guided"):
        Planner.load("sliding_tiles", method="hips_eps", height=2, width=2)


def test_an_observer_that_stops_leaves_results_for_all() -> None:
    class Impatient(Observer):
        def on_round(self, round: Round) -> None:
            raise StopSearch

    results = Planner.load("line_world").solve_many([LEVEL, "10000000"], observer=Impatient())
    assert [result.outcome for result in results] == [Outcome.INTERRUPTED] * 2
    assert [result.provenance.method for result in results] == ["low_level"] * 2


TILES = domains.create("sliding_tiles", height=2, width=3)
STARTS = TILES.sample(np.random.default_rng(4), 4)


def greedy() -> Planner:
    """A planner that finds long plans."""
    useless = StateHeuristic(lambda state: float(int(state.ravel() @ np.arange(6)) % 7))
    choice = Choice(settings=Settings(evaluation="gbfs"))
    return Planner(TILES, choice, Components(heuristic=useless))


def test_plans_are_improved_in_the_time_that_is_given() -> None:
    planner = greedy()
    shortest = len(TILES.expert(STARTS[0], np.random.default_rng(0)))
    found, improved = planner.solve(STARTS[0]), planner.solve(STARTS[0], improve=600.0)
    assert found.length is not None
    assert found.length > shortest == improved.length
    assert [segment.kind for segment in improved.segments] == ["improved"]
    assert (improved.history[0].length, improved.history[-1].length) == (found.length, shortest)


class Events(Observer):
    """Records what happened, and interrupts at a better plan if asked to."""

    def __init__(self, interrupt: bool = False) -> None:
        self.events: list[str] = []
        self.interrupt = interrupt

    def on_round(self, round: Round) -> None:
        self.events.append("round")

    def on_plan(self, index: int, result: Result) -> None:
        self.events.append(f"plan {index}")
        if self.interrupt:
            raise KeyboardInterrupt

    def on_result(self, index: int, result: Result) -> None:
        self.events.append(f"result {index}")


def test_improvement_takes_no_time_from_searches_in_lockstep() -> None:
    watch = Events()
    improved = greedy().solve_many(STARTS, improve=600.0, observer=watch)
    rounds = watch.events.count("round")
    assert watch.events[:rounds] == ["round"] * rounds
    ends = [event for event in watch.events if event.startswith("result")]
    assert sorted(ends) == [f"result {index}" for index in range(4)]
    for index, result in enumerate(improved):
        assert watch.events.count(f"plan {index}") == len(result.history) - 1
    assert any(event.startswith("plan") for event in watch.events)
    assert [r.statistics.expansions for r in greedy().solve_many(STARTS)] == [
        r.statistics.expansions for r in improved
    ]


def test_an_interrupt_during_improvement_keeps_every_plan() -> None:
    watch = Events(interrupt=True)
    found = greedy().solve_many(STARTS)
    improved = greedy().solve_many(STARTS, improve=600.0, observer=watch)
    first = next(int(event[5:]) for event in watch.events if event.startswith("plan"))
    for index, (before, after) in enumerate(zip(found, improved, strict=True)):
        assert after.solved
        assert (len(after.plan) < len(before.plan)) == (index == first)
    assert sum(event.startswith("plan") for event in watch.events) == 1


def test_no_time_for_all_leaves_none_for_improvement() -> None:
    results = greedy().solve_many(STARTS, Budget(max_total_seconds=0.0), improve=600.0)
    assert [result.outcome for result in results] == [Outcome.OUT_OF_TIME] * 4


def test_import_is_light() -> None:
    check = "import hips, sys; assert not {'numba', 'numpy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
    assert "Planner" in dir(hips)
    with pytest.raises(AttributeError):
        _ = hips.nothing_of_that_name


def test_useless_subgoals_are_left_out_and_an_explicit_method_still_uses_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdict = {"level": "useless", "reason": "1% of decoded subgoals are usable", "advice": ""}
    facts = {"verdict": {"parts": {"subgoals": verdict}}}
    install(monkeypatch, two_codes(), dataclasses.replace(line_card(), facts=facts))
    found = Planner.load("line_world").solve(LEVEL).provenance
    assert found.method == "phs_star"
    assert "calls the part 'subgoals' useless (1% of decoded subgoals are usable)" in found.note
    assert "--method hips_eps" in found.note
    asked = Planner.load("line_world", method="hips_eps").solve(LEVEL).provenance
    assert (asked.method, asked.note) == ("hips_eps", "")


def test_a_useless_part_that_no_search_needs_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdict = {"level": "useless", "reason": "0% of next states are predicted exactly"}
    facts = {"verdict": {"parts": {"dynamics": verdict}}}
    install(monkeypatch, two_codes(), dataclasses.replace(line_card(), facts=facts))
    found = Planner.load("line_world").solve(LEVEL).provenance
    assert (found.method, found.note) == ("hips_eps", "")
