"""Collecting demonstrations: run a domain's expert, verify every plan, write shards.

Shard s draws from random streams named after s, so a dataset depends only on its settings, not on
the number of workers or on interruptions.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hips._version import __version__
from hips.arrays import Actions, Grid, Grids
from hips.data.dataset import Demonstrations, cut_at_goal, encode_actions, to_offsets
from hips.data.shards import SHARD_SIZE, Shard, read_shard, shard_name, write_shard
from hips.data.storage import same_json, write_manifest
from hips.domains.base import Domain, parse_quality
from hips.domains.handles import DomainHandle
from hips.engines import Engine, LocalEngine
from hips.errors import ConfigError, DatasetError, ExpertError
from hips.files import locked
from hips.seeding import stream

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of levels done and the total."""

MAX_ROUNDS = 20
"""How often a shard redraws levels on which the expert failed."""
COUNTED = ("tried", "expert_failed", "already_solved", "too_long")
"""What is counted of the levels."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ShardTask:
    """Everything a worker needs to make one shard.

    Attributes:
        handle: the domain.
        path: the shard's file.
        origin: settings that determine the shard's content; stored in the shard.
        levels: the start states, or None to sample them.
    """

    handle: DomainHandle
    path: Path
    origin: dict[str, Any]
    levels: Grids | None


def collect(
    domain: Domain,
    count: int,
    seed: int,
    out: Path,
    quality: float = 1.0,
    engine: Engine | None = None,
    levels: Sequence[Grid] | None = None,
    progress: Progress | None = None,
    longest: int = 0,
) -> Demonstrations:
    """Collects a dataset of `count` verified plans in the folder `out`, or resumes one.

    Args:
        domain: a registered domain.
        count: number of plans; with `levels`, how many of the levels to use.
        seed: seed of the levels and of the expert's choices.
        out: the dataset's folder. Shards finished by an earlier run are checked and kept.
        quality: of the expert, from 0 (wandering) to 1 (near-optimal).
        engine: where the shards are made; None for this process.
        levels: start states to solve instead of sampled ones. Levels that the expert fails on or
            that are already solved are dropped and counted in the manifest.
        progress: called after every shard.
        longest: plans with more steps are dropped and counted in the manifest; 0 for no limit.

    Raises:
        DatasetError: the folder holds something else, or the expert fails too often. If it fails
            on every level, nothing is left on disk.
        ContractError: the expert returned a plan that does not reach a goal.
    """
    _check_settings(count, quality, levels, longest)
    settings = {"seed": seed, "quality": quality, "longest": longest}
    if out.exists() and not out.is_dir():
        raise DatasetError(f"{out}: is a file; give a folder.")
    with locked(out):
        tasks = _make_tasks(domain, count, out, settings, levels)
        _refuse_larger(out, len(tasks))
        counts = _make_shards(domain, tasks, out, engine or LocalEngine(), progress)
        origin = {
            **settings,
            "source": "sampled" if levels is None else "levels",
            "levels": counts,
        }
        return write_manifest(domain, out, origin)


def _make_shards(
    domain: Domain,
    tasks: Sequence[ShardTask],
    out: Path,
    engine: Engine,
    progress: Progress | None,
) -> dict[str, int]:
    """Makes the missing shards; returns the counts of all."""
    count = sum(_requested(task) for task in tasks)
    todo = [task for task in tasks if not _is_finished(task, domain)]
    done = count - sum(_requested(task) for task in todo)
    if progress is not None:
        progress(done, count)

    def keep(task: ShardTask, shard: Shard) -> None:
        nonlocal done
        write_shard(task.path, shard)
        done += _requested(task)
        if progress is not None:
            progress(done, count)

    engine.run(_collect_shard, todo, keep)
    counts = _sum_counts(tasks)
    if counts["tried"] == counts["expert_failed"] + counts["already_solved"] + counts["too_long"]:
        _discard(tasks, out)
        raise DatasetError(
            f"nothing to collect: of {counts['tried']} levels, the expert failed on "
            f"{counts['expert_failed']}, {counts['already_solved']} were already solved and "
            f"{counts['too_long']} plans too long."
        )
    return counts


def _discard(tasks: Sequence[ShardTask], out: Path) -> None:
    """Deletes the shards, and the folder if it is then empty."""
    for task in tasks:
        task.path.unlink(missing_ok=True)
    if not any(out.iterdir()):
        out.rmdir()


def _collect_shard(task: ShardTask, emit: Callable[[Shard], None]) -> None:
    emit(collect_shard(task))


def collect_shard(task: ShardTask) -> Shard:
    """Makes one shard; runs in a process of the engine."""
    domain = task.handle.open()
    starts, plans, counts = (
        _sample_plans(domain, task) if task.levels is None else _solve_levels(domain, task)
    )
    lengths = np.array([len(plan) for plan in plans], dtype=np.int64)
    return Shard(
        starts=np.stack(starts) if starts else np.zeros((0, *domain.spec.shape), np.uint8),
        actions=encode_actions(
            np.concatenate([np.zeros(0, np.int64), *plans]), domain.spec.num_actions
        ),
        offsets=to_offsets(lengths),
        origin={**task.origin, "levels": counts},
    )


# -- plans ---------------------------------------------------------------------------------------

_Plans: TypeAlias = tuple[list[Grid], list[Actions], dict[str, int]]


def _sample_plans(domain: Domain, task: ShardTask) -> _Plans:
    """Plans for sampled levels; levels the expert fails on are replaced."""
    wanted, seed, index = _requested(task), task.origin["seed"], task.origin["index"]
    starts: list[Grid] = []
    plans: list[Actions] = []
    counts = dict.fromkeys(COUNTED, 0)
    for attempt in range(MAX_ROUNDS):
        missing = wanted - len(plans)
        if not missing:
            return starts, plans, counts
        levels = domain.sample(stream(seed, "collect", index, "levels", attempt), missing)
        more_starts, more_plans, more_counts = _plan_all(domain, task, levels, attempt)
        starts += more_starts
        plans += more_plans
        counts = {key: counts[key] + more_counts[key] for key in counts}
    if len(plans) < wanted:
        raise DatasetError(
            f"the expert of '{domain.name}' failed on {counts['expert_failed']} of "
            f"{counts['tried']} sampled levels, and {counts['too_long']} of its plans were too "
            "long; use easier parameters, a stronger expert or a higher limit of steps."
        )
    return starts, plans, counts


def _solve_levels(domain: Domain, task: ShardTask) -> _Plans:
    """Plans for given levels."""
    assert task.levels is not None
    return _plan_all(domain, task, task.levels, 0)


def _plan_all(domain: Domain, task: ShardTask, levels: Grids, attempt: int) -> _Plans:
    """Runs the expert on every level and verifies its plans."""
    seed, index, quality = (task.origin[key] for key in ("seed", "index", "quality"))
    longest = task.origin["longest"] or np.inf
    starts: list[Grid] = []
    plans: list[Actions] = []
    solved = domain.is_goal(levels)
    failures = 0
    for position in np.flatnonzero(~solved):
        rng = stream(seed, "collect", index, "expert", attempt, int(position))
        try:
            plan = domain.expert(levels[position].copy(), rng, quality)
        except ExpertError:
            failures += 1
            continue
        starts.append(levels[position])
        plans.append(np.asarray(plan, dtype=np.int64))
    plans = cut_at_goal(domain, starts, plans)
    kept = [position for position, plan in enumerate(plans) if len(plan) <= longest]
    counts = {
        "tried": len(levels),
        "expert_failed": failures,
        "already_solved": int(solved.sum()),
        "too_long": len(plans) - len(kept),
    }
    return [starts[one] for one in kept], [plans[one] for one in kept], counts


# -- tasks ---------------------------------------------------------------------------------------


def _check_settings(
    count: int, quality: float, levels: Sequence[Grid] | None, longest: int
) -> None:
    parse_quality(str(quality))
    if longest < 0:
        raise ConfigError(f"Plans of at most {longest} steps do not exist; 0 is for no limit.")
    if count < 1:
        raise ConfigError(f"Cannot collect {count} demonstrations; ask for at least 1.")
    if levels is not None and len(levels) < count:
        raise DatasetError(f"{count} demonstrations need {count} levels; only {len(levels)} given.")


def _make_tasks(
    domain: Domain,
    count: int,
    out: Path,
    settings: Mapping[str, Any],
    levels: Sequence[Grid] | None,
) -> list[ShardTask]:
    handle = DomainHandle.of(domain)
    tasks = []
    for index, first in enumerate(range(0, count, SHARD_SIZE)):
        requested = min(SHARD_SIZE, count - first)
        part = None if levels is None else np.stack(list(levels[first : first + requested]))
        origin = {
            "hips_version": __version__,
            "domain": {"name": domain.name, "parameters": domain.parameters()},
            **settings,
            "source": "sampled" if part is None else hashlib.sha256(part.tobytes()).hexdigest(),
            "index": index,
            "requested": requested,
        }
        tasks.append(ShardTask(handle, out / shard_name(index), origin, part))
    return tasks


def _requested(task: ShardTask) -> int:
    return int(task.origin["requested"])


def _refuse_larger(out: Path, num_shards: int) -> None:
    if (out / shard_name(num_shards)).exists():
        raise DatasetError(f"{out}: already holds a larger dataset; choose another folder.")


def _is_finished(task: ShardTask, domain: Domain) -> bool:
    """Whether an earlier run made exactly this shard; reports a damaged one to be remade."""
    if not task.path.exists():
        return False
    try:
        shard = read_shard(task.path, domain.spec)
    except DatasetError as error:
        logger.warning("%s Collecting it again.", error)
        return False
    for key, value in task.origin.items():
        found = shard.origin.get(key, 0 if key == "longest" else None)
        grows = key in ("requested", "source") and shard.origin.get("requested", 0) < _requested(
            task
        )
        if not same_json(found, value) and not grows:
            raise DatasetError(
                f"{task.path}: belongs to another dataset ({key} is {found}, not {value}); "
                "choose another folder."
            )
    return bool(shard.origin.get("requested") == _requested(task))


def _sum_counts(tasks: Sequence[ShardTask]) -> dict[str, int]:
    """What is counted of the levels, over all shards."""
    counts = [read_shard(task.path).origin["levels"] for task in tasks]
    return {key: sum(one.get(key, 0) for one in counts) for key in COUNTED}
