"""Rounds of practice: search, learn from what was met, measure, keep the better model.

Every step of a round leaves a file; a run that was interrupted finds them and continues.

    out/practice.json            settings
    out/rounds.jsonl, rounds.png what each round searched, learned and reached
    out/round-00/                the first training, from demonstrations
    out/round-01/lesson.npz      what the searches of a round taught
    out/round-01/data, labels.npz the same as training data
    out/round-01/training/model  the model of the round
    out/model                    the best of all rounds
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hips import data
from hips.data import labels as labelled
from hips.data.dataset import Demonstrations, validation_split
from hips.engines import Engine, LocalEngine
from hips.errors import ConfigError
from hips.files import read_json, write_json
from hips.methods.choosing import Choice
from hips.models.card import CARD, read_card, write_card
from hips.practice import lessons
from hips.practice.config import RoundsConfig
from hips.practice.journal import Entry, Exam, Journal, draw, examine
from hips.practice.lessons import Lesson, LessonFiles
from hips.practice.searching import SearchPlan, Workplace, make_tasks, run_tasks
from hips.practice.teachers import TEACHERS
from hips.seeding import stream, stream_seed
from hips.training import config as configuration
from hips.training.config import TrainingConfig
from hips.training.run import MODEL, TrainingJob, train
from hips.training.schedule import Schedule

PURPOSE = "practice"
AGAIN = 4
"""One level in this many may be one that failed in the round before."""
SETTINGS = "practice.json"


@dataclass(frozen=True, slots=True)
class PracticeJob:
    """Rounds of practice to execute.

    Attributes:
        first: the first training; its `out` is the folder of all rounds.
        rounds: their settings.
        engine: where the searches run.
        message: reports progress.
    """

    first: TrainingJob
    rounds: RoundsConfig
    engine: Engine = field(default_factory=LocalEngine)
    message: Callable[[str], None] = print


def practise(job: PracticeJob) -> Path:
    """Runs all rounds; returns the folder of the best model."""
    return Practice(job).run()


class Practice:
    """The rounds of one job."""

    def __init__(self, job: PracticeJob) -> None:
        self.job, self.out, self.domain = job, job.first.out, job.first.domain
        self.grades = job.rounds.curriculum(self.domain)
        if job.first.limit_minutes is not None:
            raise ConfigError("A limit of minutes does not go with rounds; shorten the schedules.")
        self._round_config(1)  # a wrong name fails here, not after the first training
        self.journal = Journal(self.out / "rounds.jsonl")
        rng = stream(job.first.config.seed, PURPOSE, "development", self.domain.name)
        self.development = self.domain.sample(rng, job.rounds.development)

    def run(self) -> Path:
        """Runs the rounds that the journal does not have yet."""
        self._open()
        for number in range(len(self.journal.entries), self.job.rounds.count + 1):
            entry = self._first() if number == 0 else self._round(number)
            self.journal.add(entry)
            self.job.message(entry.describe())
        draw(self.journal.entries, self.job.rounds.within, self.out / "rounds.png")
        return self._publish()

    # -- one round -----------------------------------------------------------------------------

    def _first(self) -> Entry:
        """The first training, from demonstrations or a given model."""
        self._train(0, self.job.first.config, self.job.first.warm_start, (), ())
        return Entry(0, exam=self._examine(0), kept=True)

    def _round(self, number: int) -> Entry:
        grade, limit = self._grade(), self._limit()
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
        self._write_material(number, lesson)
        folders = [self._folder(one) for one in range(1, number + 1)]
        self._train(
            number,
            self._round_config(number),
            self._model(self.journal.best),
            [path for one in folders if (path := one / "data").exists()],
            [path for one in folders if (path := one / "labels.npz").exists()],
        )
        exam = self._examine(number)
        return dataclasses.replace(entry, exam=exam, kept=exam.beats(self.journal.best_exam))

    def _grade(self) -> int:
        """The grade of the next round: up after a success, down where nothing was solved."""
        grade = 0
        for entry in self.journal.entries[1:]:
            if entry.nothing_solved:
                grade = max(0, entry.grade - 1)
            else:
                passed = entry.solved >= self.job.rounds.pass_mark * entry.levels
                grade = min(entry.grade + passed, len(self.grades) - 1)
        return grade

    def _limit(self) -> int:
        """Expansions of the next searches: doubled for each round in vain at the lowest grade."""
        limit = self.job.rounds.max_expansions
        for entry in reversed(self.journal.entries):
            if not entry.nothing_solved or entry.grade > 0:
                break
            limit *= 2
        return limit

    def _search(self, number: int, grade: int, limit: int) -> Lesson:
        """Searches the levels of a round with the best model, unless an earlier run did."""
        folder = self._folder(number)
        done = lessons.load(folder / "lesson.npz", self.domain)
        if done is not None:
            return done
        rounds = self.job.rounds
        before = lessons.load(self._folder(number - 1) / "lesson.npz", self.domain)
        again = [] if before is None else list(before.failed[: rounds.levels // AGAIN])
        plan = SearchPlan(
            PURPOSE,
            self._seed(number),
            limit,
            Choice(model=self._model(self.journal.best), learned_only=True),
            TEACHERS.get(rounds.teacher)(),
        )
        files = LessonFiles(folder / "searches")
        tasks = make_tasks(self.grades[grade], plan, again, rounds.levels - len(again))
        self.job.message(f"round {number}: searching {rounds.levels} levels")
        lesson = run_tasks(self.grades[grade], tasks, Workplace(self.job.engine, files))
        lessons.save(lesson, folder / "lesson.npz")
        files.remove()
        return lesson

    def _write_material(self, number: int, lesson: Lesson) -> None:
        """Writes a lesson as training data."""
        folder = self._folder(number)
        origin = {"domain": self.domain.name, "source": f"round {number}"}
        if len(lesson.labels):
            labels = dataclasses.replace(lesson.labels, origin=origin)
            labelled.save(labels, folder / "labels.npz")
        if len(lesson.starts):
            shutil.rmtree(folder / "data", ignore_errors=True)
            plans = Demonstrations(
                self.domain,
                lesson.starts,
                lesson.actions,
                lesson.offsets,
                validation_split(lesson.starts),
                origin,
            )
            data.save(plans, folder / "data")

    def _train(
        self,
        number: int,
        config: TrainingConfig,
        start: str | Path | None,
        more_data: Sequence[Path],
        more_labels: Sequence[Path],
    ) -> None:
        """Trains the model of a round; continues where an earlier run stopped."""
        folder, first = self._folder(number) / "training", self.job.first
        if _is_finished(folder / MODEL):
            return
        material = first.data or ((self._folder(0) / "training" / "data",) if number else ())
        job = dataclasses.replace(
            first,
            config=config,
            out=folder,
            data=[*material, *more_data],
            labels=[*first.labels, *more_labels],
            stages=first.stages if number == 0 else (),
            warm_start=start,
            resume=True,
        )
        if train(job).card is None:
            raise ConfigError("Rounds need a whole model; train all of its stages.")

    def _round_config(self, number: int) -> TrainingConfig:
        """The configuration of a round: the first one's parts, with shorter schedules."""
        rounds, first = self.job.rounds, self.job.first.config
        unknown = [name for name in rounds.parts if name not in first.parts]
        if unknown:
            raise ConfigError(
                f"rounds.parts names '{unknown[0]}', which is not trained. "
                f"Trained: {', '.join(first.parts)}."
            )
        chosen = {
            name: shortened(part, rounds.effort)
            for name, part in first.parts.items()
            if name in rounds.parts or not rounds.parts
        }
        config = dataclasses.replace(first, parts=chosen, seed=self._seed(number))
        changes = [
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in rounds.training.items()
        ]
        return configuration.override(config, changes)

    def _examine(self, number: int) -> Exam:
        self.job.message(f"round {number}: measuring on {len(self.development)} development levels")
        return examine(self.domain, self.development, self._model(number), self.job.rounds.within)

    # -- files ---------------------------------------------------------------------------------

    def _open(self) -> None:
        """Creates the folder, or checks that it holds rounds of the same settings."""
        path = self.out / SETTINGS
        content = json.loads(
            json.dumps({"rounds": asdict(self.job.rounds), "first": _described(self.job.first)})
        )
        if not path.exists():
            if (self.out / "config.json").exists():
                raise ConfigError(
                    f"{self.out} holds a training without rounds; choose another --out."
                )
            write_json(path, content)
            return
        if not self.job.first.resume:
            raise ConfigError(
                f"{self.out} already holds rounds; add --resume to continue, or choose another "
                "--out."
            )
        present = read_json(path)
        # More rounds may follow; everything else must stay as it was.
        present["rounds"]["count"] = content["rounds"]["count"]
        if present != content:
            raise ConfigError(
                f"{self.out} was started with other settings; repeat them, or choose another --out."
            )
        write_json(path, content)

    def _publish(self) -> Path:
        """Copies the best model to its final place, its card with the history of all rounds."""
        source, target = self._model(self.journal.best), self.out / MODEL
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(CARD))
        card = read_card(source)
        facts = {**card.facts, "rounds": self.journal.to_json(), "best_round": self.journal.best}
        write_card(target, dataclasses.replace(card, facts=facts))
        return target

    def _folder(self, number: int) -> Path:
        return self.out / f"round-{number:02d}"

    def _model(self, number: int) -> Path:
        return self._folder(number) / "training" / MODEL

    def _seed(self, number: int) -> int:
        return stream_seed(self.job.first.config.seed, PURPOSE, number) % 2**31


def shortened(part: Any, effort: float) -> Any:
    """A part's configuration with all schedules cut to the share `effort` of their steps."""
    changes = {}
    for item in dataclasses.fields(part):
        value = getattr(part, item.name)
        if isinstance(value, Schedule):
            steps = max(1, round(value.steps * effort))
            changes[item.name] = dataclasses.replace(
                value,
                steps=steps,
                validate_every=min(value.validate_every, steps),
                cold_start=False,
            )
    return dataclasses.replace(part, **changes)


def _is_finished(model: Path) -> bool:
    """Whether a model was exported and scored; the scores come last."""
    return (model / CARD).exists() and "exam" in read_card(model).facts


def _described(job: TrainingJob) -> Mapping[str, Any]:
    """What determines a training, JSON-compatible."""
    return {
        "config": configuration.to_json(job.config),
        "data": [str(path) for path in job.data],
        "labels": [str(path) for path in job.labels],
        "warm_start": None if job.warm_start is None else str(job.warm_start),
    }
