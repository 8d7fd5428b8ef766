"""Rounds of practice: search, learn from what was met, measure, keep the better model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from hips.data import Progress
from hips.engines import Engine, LocalEngine
from hips.errors import ConfigError
from hips.files import locked
from hips.methods.choosing import Choice
from hips.practice import lessons
from hips.practice.config import RoundsConfig, round_config
from hips.practice.curriculum import next_grade, next_limit
from hips.practice.folder import DATA, LABELS, PracticeFolder
from hips.practice.journal import Entry, Exam, Journal, draw, examine
from hips.practice.lessons import Lesson
from hips.practice.searching import SearchPlan, Workplace, make_tasks, run_tasks
from hips.practice.teachers import TEACHERS
from hips.seeding import stream, stream_seed
from hips.training import config as configuration
from hips.training.config import TrainingConfig
from hips.training.process_group import group_size
from hips.training.run import TrainingJob, train

PURPOSE = "practice"
AGAIN = 4
"""One level in this many may be one that failed in the round before."""
Bar: TypeAlias = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of what its argument names."""


@contextmanager
def no_bar(label: str) -> Iterator[Progress]:
    """Shows no progress."""
    yield lambda done, total: None


@dataclass(frozen=True, slots=True)
class PracticeJob:
    """Rounds of practice to execute.

    Attributes:
        first: the first training; its `out` is the folder of all rounds.
        rounds: their settings.
        engine: where the searches run.
        message: reports progress.
        bar: shows the progress of the searches.
    """

    first: TrainingJob
    rounds: RoundsConfig
    engine: Engine = field(default_factory=LocalEngine)
    message: Callable[[str], None] = print
    bar: Bar = no_bar


def practise(job: PracticeJob) -> Path:
    """Runs all rounds; returns the folder of the best model."""
    return Practice(job).run()


class Practice:
    """The rounds of one job."""

    def __init__(self, job: PracticeJob) -> None:
        self.job, self.domain = job, job.first.domain
        self.folder = PracticeFolder(job.first.out)
        self.grades = job.rounds.curriculum(self.domain)
        if job.first.limit_minutes is not None:
            raise ConfigError("A limit of minutes does not go with rounds; shorten the schedules.")
        if group_size() > 1:
            raise ConfigError(
                "Rounds train in one process, not under torchrun; --workers or --engine ray share "
                "out their searches."
            )
        self._config(1)  # a wrong name fails here, not after the first training
        self.journal = Journal(self.folder.journal)
        rng = stream(job.first.config.seed, PURPOSE, "development", self.domain.name)
        self.development = self.domain.sample(rng, job.rounds.development)

    def run(self) -> Path:
        """Runs the rounds that the journal does not have yet."""
        job = self.job
        with locked(self.folder.path):
            self.folder.open(asdict(job.rounds), _described(job.first), job.first.resume)
            for number in range(len(self.journal.entries), job.rounds.count + 1):
                entry = self._first() if number == 0 else self._round(number)
                self.journal.add(entry)
                job.message(entry.describe())
            draw(self.journal.entries, job.rounds.within, self.folder.picture)
            return self.folder.publish(self.journal)

    def _first(self) -> Entry:
        """The first training, from demonstrations or a given model."""
        self._train(0, self.job.first.config, self.job.first.warm_start)
        return Entry(0, exam=self._examine(0), kept=True)

    def _round(self, number: int) -> Entry:
        entries, rounds = self.journal.entries, self.job.rounds
        grade = next_grade(entries, rounds.pass_mark, len(self.grades))
        limit = next_limit(entries, rounds.max_expansions)
        lesson = self._search(number, grade, limit)
        entry = Entry(
            number,
            grade,
            lesson.levels,
            lesson.solved,
            len(lesson.starts),
            len(lesson.labels),
            lesson.dead_ends,
            max_expansions=limit,
        )
        if entry.nothing_solved:
            self.job.message(
                f"round {number}: no level of grade {grade + 1} was solved within {limit} "
                "expansions; the next round is easier or searches longer."
            )
        if lesson.is_empty:
            return entry
        self.folder.round(number).write_material(self.domain, lesson, f"round {number}")
        self._train(number, self._config(number), self._best())
        exam = self._examine(number)
        return dataclasses.replace(entry, exam=exam, kept=exam.beats(self.journal.best_exam))

    def _search(self, number: int, grade: int, limit: int) -> Lesson:
        """Searches the levels of a round with the best model, unless an earlier run did."""
        folder, rounds = self.folder.round(number), self.job.rounds
        done = lessons.load(folder.lesson, self.domain)
        if done is not None:
            return done
        before = lessons.load(self.folder.round(number - 1).lesson, self.domain)
        again = [] if before is None else list(before.failed[: rounds.levels // AGAIN])
        plan = SearchPlan(
            PURPOSE,
            self._seed(number),
            limit,
            Choice(model=self._best(), learned_only=True),
            TEACHERS.get(rounds.teacher)(),
        )
        tasks = make_tasks(self.grades[grade], plan, again, rounds.levels - len(again))
        self.job.message(f"round {number}: searching {rounds.levels} levels")
        with self.job.bar(f"round {number}") as progress:
            place = Workplace(self.job.engine, folder.searches, progress)
            lesson = run_tasks(self.grades[grade], tasks, place)
        lessons.save(lesson, folder.lesson)
        folder.searches.remove()
        return lesson

    def _train(self, number: int, config: TrainingConfig, start: str | Path | None) -> None:
        """Trains the model of a round; continues where an earlier run stopped."""
        folder, first = self.folder.round(number), self.job.first
        if folder.is_trained:
            return
        collected = (self.folder.round(0).training / DATA,) if number else ()
        job = dataclasses.replace(
            first,
            config=config,
            out=folder.training,
            data=[*(first.data or collected), *self.folder.material(number, DATA)],
            labels=[*first.labels, *self.folder.material(number, LABELS)],
            stages=first.stages if number == 0 else (),
            warm_start=start,
            resume=True,
        )
        if train(job).card is None:
            raise ConfigError("Rounds need a whole model; train all of its stages.")

    def _examine(self, number: int) -> Exam:
        self.job.message(f"round {number}: measuring on {len(self.development)} development levels")
        model = self.folder.round(number).model
        return examine(self.domain, self.development, model, self.job.rounds.within)

    def _best(self) -> Path:
        """The best model so far."""
        return self.folder.round(self.journal.best).model

    def _config(self, number: int) -> TrainingConfig:
        """The configuration of a round's training."""
        return round_config(self.job.rounds, self.job.first.config, self._seed(number))

    def _seed(self, number: int) -> int:
        return stream_seed(self.job.first.config.seed, PURPOSE, number) % 2**31


def _described(job: TrainingJob) -> Mapping[str, Any]:
    """What determines a training, JSON-compatible."""
    return {
        "config": configuration.to_json(job.config),
        "data": [str(path) for path in job.data],
        "labels": [str(path) for path in job.labels],
        "warm_start": None if job.warm_start is None else str(job.warm_start),
    }
