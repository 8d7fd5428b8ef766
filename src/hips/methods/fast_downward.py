"""LAMA, the classical planner of Fast Downward, on the domains' PDDL.

Fast Downward is a separate program under the GPL. The `baselines` extra installs it through the
wheel `up-fast-downward`; this module only calls it, with files in and files out.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import ConfigError, ContractError, HipsError, MissingExtraError
from hips.planner.budget import Budget, available_bytes
from hips.planner.outcomes import Outcome
from hips.planner.result import Result, Segment, Statistics
from hips.planner.validate import is_plan

PACKAGE = "up_fast_downward"
DRIVER = Path("downward", "fast-downward.py")
PLAN, LOG = "plan", "log"
MEBIBYTE = 2**20
LEAST_BYTES = 64 * MEBIBYTE
"""With less memory, the program cannot even start and report an error."""
TIMED_OUT = None
_OUTCOMES = {
    0: Outcome.SOLVED,
    10: Outcome.UNSOLVABLE,
    11: Outcome.UNSOLVABLE,
    12: Outcome.UNSOLVED_INCOMPLETE,
    20: Outcome.OUT_OF_MEMORY,
    21: Outcome.OUT_OF_TIME,
    22: Outcome.OUT_OF_MEMORY,
    23: Outcome.OUT_OF_TIME,
    24: Outcome.OUT_OF_MEMORY,
    TIMED_OUT: Outcome.OUT_OF_TIME,
}
"""Outcomes of Fast Downward's documented exit codes."""


def is_installed() -> bool:
    """Whether Fast Downward is available."""
    return importlib.util.find_spec(PACKAGE) is not None


def lama(domain: Domain, start: Grid, budget: Budget | None = None) -> Result:
    """Solves one level with the first iteration of LAMA (Fast Downward's `lama-first`).

    The time is the wall-clock time of the whole program: start, translation and search; `phases`
    separates them. The plan counts only after a replay in the domain.

    Args:
        domain: a domain that writes PDDL.
        start: the level, `[H, W]`.
        budget: limits of wall-clock seconds and memory; the default memory limit is what is free.

    Raises:
        MissingExtraError: Fast Downward is not installed.
        ConfigError: the domain writes no PDDL, or a limit is invalid.
        ContractError: the plan does not solve the level, so the domain's PDDL is wrong.
    """
    budget = budget or Budget()
    if budget.max_memory is not None and budget.max_memory < LEAST_BYTES:
        raise ConfigError(f"LAMA needs at least {LEAST_BYTES // MEBIBYTE} MiB of memory.")
    driver = _find_driver()
    task = domain.pddl(start)
    if task is None:
        raise ConfigError(f"'{domain.name}' writes no PDDL, which classical planners need.")
    with tempfile.TemporaryDirectory(prefix="hips-lama-") as name:
        folder = Path(name)
        for file, text in zip(("domain.pddl", "problem.pddl"), task, strict=True):
            (folder / file).write_text(text)
        run = _run(_command(driver, budget), folder, budget.max_seconds)
        return _read_result(domain, start, run, folder / PLAN)


@dataclass(frozen=True, slots=True)
class _Run:
    """One finished call: exit code (`TIMED_OUT` if stopped), wall-clock seconds and output."""

    code: int | None
    seconds: float
    log: str


def _find_driver() -> Path:
    # Do not import the wheel's Python package: it would load unified-planning just for a path.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError("LAMA", "baselines")
    return Path(spec.origin).parent / DRIVER


def _command(driver: Path, budget: Budget) -> list[str]:
    memory = available_bytes() if budget.max_memory is None else budget.max_memory
    command = [sys.executable, str(driver), "--plan-file", PLAN]
    if sys.platform == "linux":  # elsewhere Fast Downward rejects the memory limit
        command += ["--overall-memory-limit", f"{max(memory, LEAST_BYTES) // MEBIBYTE}M"]
    if budget.max_seconds is not None and math.isfinite(budget.max_seconds):
        # A CPU time limit ends the planner even if this process dies first.
        command += ["--overall-time-limit", f"{math.ceil(budget.max_seconds) + 1}s"]
    return [*command, "--alias", "lama-first", "domain.pddl", "problem.pddl"]


def _run(command: list[str], folder: Path, seconds: float | None) -> _Run:
    """Runs a command in its own process group, which is ended completely afterwards."""
    started = time.perf_counter()
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            # The driver starts a translator and a search, so killing it alone is not enough.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    text = (folder / LOG).read_text(errors="replace")
    return _Run(code, time.perf_counter() - started, text)


def _read_result(domain: Domain, start: Grid, run: _Run, plan: Path) -> Result:
    if run.code not in _OUTCOMES:
        lines = run.log.strip().splitlines()[-5:]
        raise HipsError(f"Fast Downward exited with code {run.code}: {' / '.join(lines)}")
    statistics = read_statistics(run.log, run.seconds)
    outcome = _OUTCOMES[run.code]
    if outcome is not Outcome.SOLVED:
        return Result(outcome, statistics=statistics)
    actions = domain.plan_from_pddl(plan.read_text().splitlines())
    if not is_plan(domain, start, actions):
        raise ContractError(f"A plan for the PDDL of '{domain.name}' does not solve the level.")
    names = domain.spec.action_names(actions)
    segments = tuple(Segment("action", name, 1) for name in names)
    return Result(outcome, names, segments, replace(statistics, environment_steps=len(names)))


def read_statistics(log: str, seconds: float) -> Statistics:
    """Statistics from Fast Downward's output; partial if the search is unfinished."""
    expansions = int(_last(r"Expanded (\d+) state", log) or _last(r"(\d+) expanded", log) or 0)
    search = float(_last(r"Search time: ([\d.]+)s", log) or 0.0)
    total = float(_last(r"Total time: ([\d.]+)s", log) or 0.0)
    return Statistics(
        expansions=expansions,
        action_expansions=expansions,
        generated=int(_last(r"Generated (\d+) state", log) or 0),
        seconds=seconds,
        elapsed_seconds=seconds,
        phases={"search": search, "preprocessing": total - search, "translation": seconds - total},
        peak_bytes=1024 * int(_last(r"Peak memory: (\d+) KB", log) or 0),
    )


def _last(pattern: str, text: str) -> str | None:
    found: list[str] = re.findall(pattern, text)
    return found[-1] if found else None
