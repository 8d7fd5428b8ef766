"""The folder of all rounds.

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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hips import data
from hips.data import labels as labelled
from hips.data.dataset import Demonstrations, validation_split
from hips.domains.base import Domain
from hips.errors import ConfigError
from hips.files import read_json, replacing, write_json
from hips.models.card import CARD, read_card, write_card
from hips.practice.journal import Journal
from hips.practice.lessons import Lesson, LessonFiles
from hips.training.run import MODEL

DATA, LABELS = "data", "labels.npz"


@dataclass(frozen=True, slots=True)
class RoundFolder:
    """The folder of one round."""

    path: Path

    @property
    def lesson(self) -> Path:
        """What the searches taught."""
        return self.path / "lesson.npz"

    @property
    def searches(self) -> LessonFiles:
        """What finished searches taught, until the others have ended."""
        return LessonFiles(self.path / "searches")

    @property
    def training(self) -> Path:
        """The training's run folder."""
        return self.path / "training"

    @property
    def model(self) -> Path:
        """The model that was trained."""
        return self.training / MODEL

    @property
    def is_trained(self) -> bool:
        """Whether the model was exported and scored; the scores come last."""
        return (self.model / CARD).exists() and "exam" in read_card(self.model).facts

    def write_material(self, domain: Domain, lesson: Lesson, source: str) -> None:
        """Writes a lesson as training data."""
        origin = {"domain": domain.name, "source": source}
        if len(lesson.labels):
            labels = dataclasses.replace(lesson.labels, origin=origin)
            labelled.save(labels, self.path / LABELS)
        if len(lesson.starts):
            shutil.rmtree(self.path / DATA, ignore_errors=True)
            plans = Demonstrations(
                domain,
                lesson.starts,
                lesson.actions,
                lesson.offsets,
                validation_split(lesson.starts),
                origin,
            )
            data.save(plans, self.path / DATA)


@dataclass(frozen=True, slots=True)
class PracticeFolder:
    """The folder of all rounds."""

    path: Path

    def round(self, number: int) -> RoundFolder:
        """The folder of a round."""
        return RoundFolder(self.path / f"round-{number:02d}")

    def material(self, last: int, name: str) -> list[Path]:
        """The data (or labels) of the rounds up to `last` that have some."""
        paths = [self.round(number).path / name for number in range(1, last + 1)]
        return [path for path in paths if path.exists()]

    @property
    def journal(self) -> Path:
        """The entries of finished rounds."""
        return self.path / "rounds.jsonl"

    @property
    def picture(self) -> Path:
        """The chart of the rounds."""
        return self.path / "rounds.png"

    def open(self, rounds: Mapping[str, Any], first: Mapping[str, Any], resume: bool) -> None:
        """Begins the rounds of these settings, or checks that the folder holds some of them.

        Args:
            rounds: the settings of the rounds.
            first: what determines the first training.
            resume: whether to continue.

        Raises:
            ConfigError: the folder holds something else, or rounds and `resume` is not set.
        """
        path = self.path / "practice.json"
        content = json.loads(json.dumps({"rounds": rounds, "first": first}))
        if not path.exists():
            if (self.path / "config.json").exists():
                raise ConfigError(
                    f"{self.path} holds a training without rounds; choose another --out."
                )
            write_json(path, content)
            return
        if not resume:
            raise ConfigError(
                f"{self.path} already holds rounds; add --resume to continue, or choose another "
                "--out."
            )
        # More rounds may follow; everything else must stay as it was.
        if _without_count(read_json(path)) != _without_count(content):
            raise ConfigError(
                f"{self.path} was started with other settings; repeat them, or choose another "
                "--out."
            )
        write_json(path, content)

    def publish(self, journal: Journal) -> Path:
        """Copies the best model to its final place, its card with the history of all rounds."""
        source, target = self.round(journal.best).model, self.path / MODEL
        shutil.rmtree(target, ignore_errors=True)
        for file in source.iterdir():
            if file.name != CARD:  # it comes last, with more in it
                with replacing(target / file.name) as temporary:
                    shutil.copyfile(file, temporary)
        card = read_card(source)
        facts = {**card.facts, "rounds": journal.to_json(), "best_round": journal.best}
        write_card(target, dataclasses.replace(card, facts=facts))
        return target


def _without_count(settings: Any) -> Any:
    """Settings as stored, without the number of rounds; a damaged file as it is."""
    if not isinstance(settings, dict) or not isinstance(settings.get("rounds"), dict):
        return settings
    rounds = {key: value for key, value in settings["rounds"].items() if key != "count"}
    return {**settings, "rounds": rounds}
