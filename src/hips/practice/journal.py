"""The journal of rounds: what each one searched, learned and reached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hips.arrays import Grids
from hips.domains.base import Domain
from hips.errors import ConfigError, DatasetError
from hips.files import read_text, replacing, require_regular, write_text
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.planner.budget import Budget
from hips.training.config import build


@dataclass(frozen=True, slots=True)
class Exam:
    """How a model does on the development levels.

    Attributes:
        levels: their number.
        solved: how many it solves within the limit.
        expansions: mean expansions; the limit counts for the others.
    """

    levels: int
    solved: int
    expansions: float

    def beats(self, other: Exam) -> bool:
        """Whether it solves more, or as many with fewer expansions."""
        return (self.solved, -self.expansions) > (other.solved, -other.expansions)


def examine(domain: Domain, levels: Grids, model: Path, within: int) -> Exam:
    """Solves the development levels with a model."""
    planner = Planner(domain, Choice(model=model, learned_only=True))
    results = planner.solve_many(list(levels), Budget(within))
    spent = [one.statistics.expansions if one.solved else within for one in results]
    solved = sum(one.solved for one in results)
    return Exam(len(levels), solved, round(sum(spent) / max(1, len(spent)), 3))


@dataclass(frozen=True, slots=True)
class Entry:
    """One round.

    Attributes:
        round: its number; 0 is the first training.
        grade: index of the curriculum's grade.
        levels: levels searched.
        solved: how many were solved.
        plans: demonstrations gained.
        labels: states labelled.
        dead_ends: how many of them have no plan.
        exam: of the model trained in this round; None if there was nothing to learn.
        kept: whether that model is the best so far.
        max_expansions: limit of each search of this round.
    """

    round: int
    grade: int = 0
    levels: int = 0
    solved: int = 0
    plans: int = 0
    labels: int = 0
    dead_ends: int = 0
    exam: Exam | None = None
    kept: bool = False
    max_expansions: int = 0

    @property
    def nothing_solved(self) -> bool:
        """Whether levels were searched in vain."""
        return self.levels > 0 and self.solved == 0

    def describe(self) -> str:
        """One line for people."""
        parts = [f"round {self.round}:"]
        if self.levels:
            parts.append(
                f"solved {self.solved} of {self.levels} levels (grade {self.grade + 1}), learned "
                f"{self.plans:,} plans and {self.labels:,} states ({self.dead_ends:,} dead ends);"
            )
        if self.exam is None:
            parts.append("nothing to learn")
        else:
            parts.append(
                f"{self.exam.solved} of {self.exam.levels} development levels, "
                f"{self.exam.expansions:.1f} expansions; {'kept' if self.kept else 'not kept'}"
            )
        return " ".join(parts)


class Journal:
    """The entries of finished rounds, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = _read(path) if path.exists() else []

    @property
    def best(self) -> int:
        """The round of the best model."""
        return max(entry.round for entry in self.entries if entry.kept)

    @property
    def best_exam(self) -> Exam:
        """The exam of the best model."""
        exam = self.entries[self.best].exam
        assert exam is not None
        return exam

    def add(self, entry: Entry) -> None:
        """Appends an entry; the file is whole after a kill at any moment."""
        self.entries.append(entry)
        lines = [json.dumps(asdict(one)) for one in self.entries]
        write_text(self.path, "\n".join(lines) + "\n")

    def to_json(self) -> list[dict[str, Any]]:
        """All entries, for the card."""
        return [asdict(entry) for entry in self.entries]


def _read(path: Path) -> list[Entry]:
    require_regular(path)
    try:
        rows = [json.loads(line) for line in read_text(path).splitlines()]
        entries = [_entry(row, str(path)) for row in rows]
    except (AttributeError, ConfigError, RecursionError, ValueError) as error:
        raise DatasetError(f"{path}: not a journal of rounds ({error}).") from None
    numbers = [entry.round for entry in entries]
    kept = [entry for entry in entries if entry.kept]
    if numbers != list(range(len(entries))) or any(entry.exam is None for entry in kept):
        raise DatasetError(f"{path}: not a journal of rounds (lines are missing or changed).")
    if entries and not entries[0].kept:
        raise DatasetError(f"{path}: not a journal of rounds (its first model was not kept).")
    return entries


def _entry(row: dict[str, Any], where: str) -> Entry:
    exam = None if row.get("exam") is None else build(Exam, row["exam"], where)
    entry: Entry = build(Entry, {**row, "exam": exam}, where)
    return entry


def draw(entries: Sequence[Entry], within: int, picture: Path) -> None:
    """The share of development levels solved over the rounds."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    exams = [(entry.round, entry.exam) for entry in entries if entry.exam is not None]
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    panel = figure.subplots()
    panel.plot(
        [number for number, _ in exams],
        [100.0 * exam.solved / exam.levels for _, exam in exams],
        marker="o",
    )
    panel.set_xlabel("round")
    panel.set_ylabel(f"% solved within {within} expansions")
    panel.set_ylim(0, 101)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.grid(alpha=0.3)
    with replacing(picture) as temporary:
        figure.savefig(temporary, dpi=110)
