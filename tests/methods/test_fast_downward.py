"""LAMA solves tiny problems of every domain, proves others unsolvable, and stops when told to."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from hips import domains
from hips.domains import Actions, Domain, Grid, create
from hips.errors import ConfigError, ContractError, HipsError, MissingExtraError, ModelError
from hips.methods import fast_downward
from hips.methods.fast_downward import is_installed, lama
from hips.methods.planner import Planner
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.validate import is_plan
from hips.seeding import stream
from tests.toys import LineWorld

MINUTE = Budget(max_seconds=60)
needs_planner = pytest.mark.skipif(not is_installed(), reason="extra `baselines`")


def ends(process: int, seconds: float = 200.0) -> bool:
    """Whether a process ends soon: it is gone, or only waits for its new parent to notice."""
    try:
        for _ in range(round(seconds / 0.1)):
            if psutil.Process(process).status() == psutil.STATUS_ZOMBIE:
                return True
            time.sleep(0.1)
    except psutil.NoSuchProcess:
        return True
    return False


def solve_checked(domain: Domain, level: Grid) -> None:
    result = lama(domain, level, MINUTE)
    assert result.outcome is Outcome.SOLVED
    assert is_plan(domain, level, domain.spec.action_indices(result.plan))
    assert sum(segment.steps for segment in result.segments) == len(result.plan)
    statistics = result.statistics
    assert statistics.expansions > 0
    assert statistics.generated > 0
    assert statistics.peak_bytes > 0
    assert sum(statistics.phases.values()) == pytest.approx(statistics.seconds)
    assert min(statistics.phases.values()) >= 0


SMALL = {
    "sokoban": {"height": 7, "width": 7, "boxes": 1},
    "sliding_tiles": {"height": 3, "width": 3},
    "box_world": {"size": 5, "goal_length": 3, "distractors": 1},
    "tsp": {"size": 5, "cities": 4},
}


def with_pddl() -> list[str]:
    """Every registered domain that writes PDDL."""
    return [name for name in domains.names() if "pddl" in create(name).formats]


def test_the_small_domains_write_pddl() -> None:
    assert set(SMALL) <= set(with_pddl())


@needs_planner
@pytest.mark.parametrize("name", with_pddl())
def test_sampled_levels_are_solved(name: str) -> None:
    domain = create(name, **SMALL.get(name, {}))
    solve_checked(domain, domain.sample(stream(0, "lama"), 1)[0])


@needs_planner
def test_a_solved_start_has_an_empty_plan() -> None:
    domain = create("sliding_tiles", height=2, width=3)
    result = lama(domain, domain.parse("0 1 2 3 4 5"))
    assert result.outcome is Outcome.SOLVED
    assert result.plan == ()


@needs_planner
def test_an_exhausted_search_is_a_proof() -> None:
    domain = create("sliding_tiles", height=2, width=3)
    result = lama(domain, domain.parse("0 2 1 3 4 5"), MINUTE)
    assert result.outcome is Outcome.UNSOLVABLE
    assert result.statistics.expansions == 360  # 6! / 2: the whole reachable half


@needs_planner
def test_the_translator_alone_can_prove_it() -> None:
    domain = create("sokoban", height=5, width=5, boxes=1)
    level = domain.parse("#####\n#@ .#\n#####\n#$  #\n#####")
    assert lama(domain, level, MINUTE).outcome is Outcome.UNSOLVABLE


@needs_planner
def test_time_runs_out() -> None:
    domain = create("sliding_tiles")
    level = domain.sample(stream(1, "lama"), 1)[0]
    assert lama(domain, level, Budget(max_seconds=0)).outcome is Outcome.OUT_OF_TIME


@needs_planner
def test_memory_runs_out() -> None:
    """Forty million zeros in the problem's name are too much for the least memory there is."""
    domain = _Bloated(2, 2)
    little = Budget(max_seconds=60, max_memory=fast_downward.LEAST_BYTES)
    result = lama(domain, domain.parse("1 0 2 3"), little)
    assert result.outcome is Outcome.OUT_OF_MEMORY


def test_too_little_memory_is_refused() -> None:
    domain = create("sliding_tiles", height=2, width=2)
    with pytest.raises(ConfigError, match="at least 64 MiB"):
        lama(domain, domain.parse("1 0 2 3"), Budget(max_memory=2**20))


def test_a_stopped_program_leaves_no_process(tmp_path: Path) -> None:
    command = ["sh", "-c", "sleep 600 & echo $! > child; wait"]
    run = fast_downward._run(command, tmp_path, 2)
    assert run.code is fast_downward.TIMED_OUT
    child = int((tmp_path / "child").read_text())
    assert ends(child)


def test_an_interrupt_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    wait = subprocess.Popen.wait

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if process in started:
            return wait(process, timeout)
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fast_downward._run(["sleep", "600"], tmp_path, None)
    assert started[0].returncode == -signal.SIGKILL


def test_an_unfinished_log_says_how_far_it_came() -> None:
    log = "[t=0.1s, 9 KB] g=1, 3 evaluated, 2 expanded\n[t=0.2s, 9 KB] g=2, 9 evaluated, 7 expanded"
    statistics = fast_downward.read_statistics(log, 2.5)
    assert statistics.expansions == 7
    assert statistics.seconds == 2.5


def test_a_domain_without_pddl_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_downward, "_find_driver", Path)
    world = LineWorld()
    with pytest.raises(ConfigError, match="writes no PDDL"):
        lama(world, world.sample(stream(2, "lama"), 1)[0])


def test_a_missing_program_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_downward, "PACKAGE", "no_such_package")
    domain = create("sliding_tiles", height=2, width=2)
    assert not is_installed()
    with pytest.raises(MissingExtraError, match=r"hips-epsilon\[baselines\]"):
        lama(domain, domain.parse("1 0 2 3"))


@needs_planner
def test_the_method_calls_the_program_for_every_level() -> None:
    planner = Planner.load("sliding_tiles", method="lama", height=2, width=3)
    solvable, hopeless = [[1, 0, 2], [3, 4, 5]], [[0, 2, 1], [3, 4, 5]]
    results = planner.solve_many([solvable, hopeless], MINUTE)
    assert [result.outcome for result in results] == [Outcome.SOLVED, Outcome.UNSOLVABLE]
    assert results[0].plan == ("left",)
    assert (results[0].provenance.method, results[0].provenance.model) == ("lama", None)
    assert planner.solve(hopeless, Budget(max_total_seconds=0.0)).outcome is Outcome.OUT_OF_TIME


def test_the_method_says_why_it_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_downward, "is_installed", lambda: True)
    with pytest.raises(ModelError, match="'line_world' writes no PDDL"):
        Planner.load("line_world", method="lama")
    monkeypatch.setattr(fast_downward, "is_installed", lambda: False)
    with pytest.raises(ModelError, match=r"hips-epsilon\[baselines\]"):
        Planner.load("sliding_tiles", method="lama")


class _Misleading(type(create("sliding_tiles"))):  # type: ignore[misc]
    """Sliding tiles whose PDDL plans are read wrongly."""

    def plan_from_pddl(self, lines: Iterable[str]) -> Actions:
        return super().plan_from_pddl(lines)[:-1]


class _Bloated(type(create("sliding_tiles"))):  # type: ignore[misc]
    """Sliding tiles with an enormous problem."""

    def pddl(self, state: Grid) -> tuple[str, str]:
        rules, problem = super().pddl(state)
        return rules, problem.replace("(problem puzzle", "(problem puzzle" + "0" * 40_000_000)


class _Broken(type(create("sliding_tiles"))):  # type: ignore[misc]
    """Sliding tiles whose PDDL no planner can read."""

    def pddl(self, state: Grid) -> tuple[str, str]:
        return "(define (domain rubbish))", "(define (problem rubbish)"


@needs_planner
def test_plans_are_replayed_before_they_count() -> None:
    domain = _Misleading(2, 2)
    with pytest.raises(ContractError, match="does not solve"):
        lama(domain, domain.parse("1 0 2 3"), MINUTE)


@needs_planner
def test_rubbish_is_an_error_with_the_planners_words() -> None:
    domain = _Broken(2, 2)
    with pytest.raises(HipsError, match="Fast Downward exited with code"):
        lama(domain, domain.parse("1 0 2 3"), MINUTE)
