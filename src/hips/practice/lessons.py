"""What searches teach: plans for demonstrations, and labelled states for heuristics."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from hips.archives import stored_arrays
from hips.arrays import Actions, Grid, Grids
from hips.data.dataset import ActionCodes, Offsets, encode_actions, to_offsets
from hips.data.labels import DEAD_END, StateLabels
from hips.domains.base import Domain
from hips.errors import DatasetError
from hips.files import replacing

FORMAT = "hips-lesson"


@dataclass(frozen=True, slots=True)
class Lesson:
    """Plans, labels and unsolved levels of some searches.

    Attributes:
        starts: `[N, H, W]`, the start states of the plans.
        actions: the actions of all plans, concatenated.
        offsets: `[N + 1]`; plan i is `actions[offsets[i]:offsets[i + 1]]`.
        labels: states and their remaining steps.
        failed: `[F, H, W]`, levels without a plan.
        levels: number of levels searched.
        origin: everything that determines the lesson, JSON-compatible.
    """

    starts: Grids
    actions: ActionCodes
    offsets: Offsets
    labels: StateLabels
    failed: Grids
    levels: int
    origin: dict[str, Any]

    @property
    def solved(self) -> int:
        """Number of levels solved."""
        return self.levels - len(self.failed)

    @property
    def dead_ends(self) -> int:
        """Number of states known to have no plan."""
        return int((self.labels.remaining == DEAD_END).sum())

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to learn."""
        return not len(self.starts) and not len(self.labels)


class Notebook:
    """Collects what a teacher says about one domain."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._starts: list[Grid] = []
        self._plans: list[Actions] = []
        self._states: list[Grid] = []
        self._remaining: list[int] = []

    def add_plan(self, start: Grid, plan: Actions) -> None:
        """Notes a plan that reaches a goal; empty ones teach nothing."""
        if len(plan):
            self._starts.append(start)
            self._plans.append(plan)

    def add_label(self, state: Grid, remaining: int) -> None:
        """Notes the remaining steps of a state, or `DEAD_END`."""
        self._states.append(state)
        self._remaining.append(remaining)

    def lesson(self, failed: Sequence[Grid], levels: int) -> Lesson:
        """All that was noted."""
        shape, name = self._domain.spec.shape, self._domain.name
        flat = np.concatenate([np.zeros(0, np.int64), *self._plans])
        return Lesson(
            starts=stack(self._starts, shape),
            actions=encode_actions(flat, self._domain.spec.num_actions),
            offsets=to_offsets(np.array([len(plan) for plan in self._plans], dtype=np.int64)),
            labels=StateLabels(
                stack(self._states, shape),
                np.array(self._remaining, dtype=np.int32),
                {"domain": name},
            ),
            failed=stack(failed, shape),
            levels=levels,
            origin={},
        )


def stack(grids: Sequence[Grid], shape: tuple[int, int]) -> Grids:
    """Grids `[M, H, W]`, also of none."""
    return np.array(grids, dtype=np.uint8).reshape(-1, *shape)


def save(lesson: Lesson, path: Path) -> None:
    """Writes a lesson to one compressed file, atomically."""
    facts = json.dumps({"format": FORMAT, "levels": lesson.levels, "origin": lesson.origin})
    with replacing(path) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(
            handle,
            starts=lesson.starts,
            actions=lesson.actions,
            offsets=lesson.offsets,
            states=lesson.labels.states,
            remaining=lesson.labels.remaining,
            failed=lesson.failed,
            facts=np.frombuffer(facts.encode(), dtype=np.uint8),
        )


def load(path: Path, domain: Domain) -> Lesson | None:
    """The lesson in a file; None if it is missing or damaged."""
    try:
        with stored_arrays(path) as content:
            facts = json.loads(content["facts"].tobytes())
            return Lesson(
                content["starts"],
                content["actions"],
                content["offsets"],
                StateLabels(content["states"], content["remaining"], {"domain": domain.name}),
                content["failed"],
                facts["levels"],
                facts["origin"],
            )
    except Exception:  # zipfile, zlib and NumPy raise many types on damaged bytes
        return None


@dataclass(frozen=True, slots=True)
class LessonFiles:
    """The lessons of finished tasks, one file each, so that a later run need not repeat them."""

    folder: Path

    @classmethod
    def beside(cls, file: Path) -> Self:
        """A hidden folder next to a file that is still to be written."""
        return cls(file.with_name(f".{file.name}.parts"))

    def save(self, index: int, lesson: Lesson) -> None:
        """Writes the lesson of task `index`."""
        save(lesson, self._path(index))

    def load(self, index: int, domain: Domain, origin: dict[str, Any]) -> Lesson | None:
        """The lesson of task `index`; None if it is missing or damaged.

        Raises:
            DatasetError: a run with other settings wrote it.
        """
        lesson = load(self._path(index), domain)
        if lesson is not None and lesson.origin != json.loads(json.dumps(origin)):
            raise DatasetError(
                f"{self.folder}: holds the results of an unfinished run with other settings; "
                "repeat that command, or delete the folder."
            )
        return lesson

    def _path(self, index: int) -> Path:
        return self.folder / f"part-{index:05d}.npz"

    def remove(self) -> None:
        """Deletes the files, once their joined lesson is safe elsewhere."""
        shutil.rmtree(self.folder, ignore_errors=True)


def join(lessons: Sequence[Lesson]) -> Lesson:
    """Several lessons of one domain as one."""
    return Lesson(
        starts=np.concatenate([one.starts for one in lessons]),
        actions=np.concatenate([one.actions for one in lessons]),
        offsets=to_offsets(np.concatenate([np.diff(one.offsets) for one in lessons])),
        labels=StateLabels(
            np.concatenate([one.labels.states for one in lessons]),
            np.concatenate([one.labels.remaining for one in lessons]).astype(np.int32),
            lessons[0].labels.origin,
        ),
        failed=np.concatenate([one.failed for one in lessons]),
        levels=sum(one.levels for one in lessons),
        origin={},
    )
