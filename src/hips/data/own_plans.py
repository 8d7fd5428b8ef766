"""Demonstrations of your own: JSON lines of a level and a plan, checked one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hips.arrays import Actions, Grid
from hips.data.dataset import Demonstrations, plan_fault
from hips.domains.base import Domain
from hips.errors import ConfigError, DatasetError, HipsError, LevelError

LEVEL, ACTIONS = "level", "actions"
FEW = 10
"""Fewer demonstrations teach nothing."""


@dataclass(frozen=True, slots=True)
class OwnPlans:
    """Accepted demonstrations, and why others were refused.

    Attributes:
        demonstrations: the accepted ones, at least one.
        refused: one error with its line for each refused line.
    """

    demonstrations: Demonstrations
    refused: list[LevelError]


def read_plans(domain: Domain, lines: Iterable[str], source: str) -> OwnPlans:
    """Reads lines `{"level": …, "actions": [names]}`, or with a plan in a format of the domain.

    Levels of different sizes are brought to one, if the domain can.

    Raises:
        DatasetError: no line is a demonstration.
    """
    found: list[tuple[int, Grid, Actions]] = []
    refused: list[LevelError] = []
    for item in _scan(domain, lines, source):
        if isinstance(item, LevelError):
            refused.append(item)
        else:
            found.append(item)
    shape = tuple(max(grid.shape[axis] for _, grid, _ in found) for axis in (0, 1)) if found else ()
    kept: list[tuple[Grid, Actions]] = []
    for number, grid, actions in found:
        fitted = domain.fit(grid, (shape[0], shape[1]))
        fault = f"the level cannot be brought to {shape[0]} rows and {shape[1]} columns"
        if fitted is not None:
            fault = plan_fault(domain.for_grid(fitted), fitted, actions)
        if fitted is None or fault:
            refused.append(LevelError(fault, number, source=source))
        else:
            kept.append((fitted, actions))
    refused.sort(key=lambda error: error.line or 0)
    if not kept:
        reason = f" The first: {refused[0]}." if refused else " The file is empty."
        raise DatasetError(f"{source}: no line is a demonstration that reaches the goal.{reason}")
    levels, plans = zip(*kept, strict=True)
    return OwnPlans(Demonstrations.from_plans(domain, levels, plans), refused)


def _scan(
    domain: Domain, lines: Iterable[str], source: str
) -> Iterator[tuple[int, Grid, Actions] | LevelError]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield number, *_parse(domain, line)
        except LevelError as error:
            yield LevelError(error.reason, number, source=source)
        except HipsError as error:
            yield LevelError(str(error), number, source=source)


def _parse(domain: Domain, line: str) -> tuple[Grid, Actions]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise LevelError("not JSON") from None
    if not isinstance(record, dict) or LEVEL not in record:
        raise LevelError(f"expected an object with '{LEVEL}' and '{ACTIONS}'")
    return _level(domain, record[LEVEL]), _plan(domain, record)


def _level(domain: Domain, given: Any) -> Grid:
    if isinstance(given, str):
        return domain.parse(given)
    try:
        cells = np.asarray(given)
    except (ValueError, OverflowError):
        cells = np.zeros(0)
    if cells.ndim != 2 or cells.dtype.kind not in "iu" or not cells.size:
        raise LevelError(f"'{LEVEL}' must be text or rows of integers of equal length")
    if cells.min() < 0 or cells.max() >= domain.spec.num_symbols:
        raise LevelError(f"cells must be 0 to {domain.spec.num_symbols - 1}")
    return cells.astype(np.uint8)


def _plan(domain: Domain, record: dict[str, Any]) -> Actions:
    for name in domain.plan_inputs:
        if name in record:
            if not isinstance(record[name], str):
                raise LevelError(f"'{name}' must be text")
            return domain.read_plan(name, record[name])
    names = record.get(ACTIONS)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        formats = " or ".join(f"'{name}'" for name in (ACTIONS, *domain.plan_inputs))
        raise LevelError(f"expected {formats}; '{ACTIONS}' is a list of action names")
    try:
        return domain.spec.action_indices(names)
    except ConfigError as error:
        raise LevelError(str(error)) from None


def advice(demonstrations: Demonstrations) -> list[str]:
    """What to know before training on demonstrations: few, repeated or contradictory ones."""
    found = []
    count = len(demonstrations)
    if count < FEW:
        found.append(
            f"Only {count} demonstrations: a model trained on fewer than {FEW} learns nothing "
            "useful. Add more, or let the expert make some with `hips collect`."
        )
    plans: dict[bytes, set[bytes]] = {}
    for index, start in enumerate(demonstrations.starts):
        plans.setdefault(start.tobytes(), set()).add(demonstrations.plan(index).tobytes())
    contradictory = sum(len(of_level) > 1 for of_level in plans.values())
    if contradictory:
        found.append(
            f"{contradictory} levels have several different plans: the model learns a mixture of "
            "them. Keep the best plan of each level if they contradict each other."
        )
    if count - len(plans) > contradictory and len(plans) < count / 2:
        found.append(
            f"{count} demonstrations of only {len(plans)} different levels: a model may learn the "
            "levels by heart. Add other levels."
        )
    return found
