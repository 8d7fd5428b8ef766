"""The verbs that write files, on tiny problems, and what they must leave behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TIMES = ("seconds", "elapsed_seconds", "phases", "invocation", "peak_bytes")
SMALL = ("--set", "height=2", "--set", "width=3")


@dataclass(frozen=True)
class Verb:
    """A command that can be stopped and repeated.

    Attributes:
        words: the command; repeating it continues.
        content: what it has made in a folder, without times.
        prepare: writes the files it reads.
        last: a file that it writes last and refuses to replace, if any.
    """

    words: tuple[str, ...]
    content: Callable[[Path], Any]
    prepare: Callable[[Path], None] = lambda folder: None
    last: str | None = None

    def is_done(self, folder: Path) -> bool:
        """Whether repeating it would be refused, because it has ended."""
        return self.last is not None and (folder / self.last).exists()


def results(path: Path) -> list[dict[str, Any]]:
    """Lines of results in a fixed order, without times; a half last line is left out."""
    whole = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    lines = [json.loads(line) for line in whole]
    kept = [
        {key: value for key, value in line.items() if key not in TIMES}
        for line in lines
        if line.get("type", "run") == "run"
    ]
    return sorted(kept, key=lambda line: json.dumps(line, sort_keys=True))


def labels(folder: Path) -> list[Any]:
    with np.load(folder / "labels.npz") as arrays:
        return [arrays["states"].tolist(), arrays["remaining"].tolist()]


def write_catalogue(folder: Path) -> None:
    """One table with one method on small puzzles."""
    size = {"problems": 40, "timed_problems": 2, "expansions": 100, "seconds": 5, "chunk": 4}
    suite = {"label": "Tiles", "domain": "sliding_tiles", "parameters": {"height": 2, "width": 3}}
    part = {"suite": "tiles", "rows": ["alone"], "points": [10, None]}
    catalogue = {
        "sizes": {"quick": {**size, "minutes": None}},
        "methods": {"alone": {"label": "actions", "method": "low_level"}},
        "suites": {"tiles": suite},
        "experiments": {"small": {"title": "Small puzzles", "parts": [part]}},
    }
    (folder / "catalogue.json").write_text(json.dumps(catalogue))


def fingerprint(folder: Path) -> Any:
    """The hashes of the trained model's files."""
    return json.loads((folder / "run" / "model" / "card.json").read_text())["files"]


def write_recipe(folder: Path) -> None:
    """A training of seconds with two rounds, whose searches are three tasks each."""
    recipe = {
        "format": 2,
        "domain": "sliding_tiles",
        "parameters": {"height": 2, "width": 3},
        "size": "smoke",
        "parts": ["heuristic"],
        "training": {
            "demonstrations": 100,
            "heuristic.training.steps": 20,
            "heuristic.training.validate_every": 10,
        },
        "rounds": {
            **{"count": 2, "teacher": "own", "levels": 150, "max_expansions": 60},
            **{"development": 20, "within": 60},
        },
    }
    (folder / "recipe.json").write_text(json.dumps(recipe))


def rounds(folder: Path) -> Any:
    """What the rounds reached, and the hashes of every model."""
    cards = sorted((folder / "run").glob("**/model/card.json"))
    hashes = [json.loads(card.read_text())["files"] for card in cards]
    return (folder / "run" / "rounds.jsonl").read_text(), hashes


VERBS = {
    "solve": Verb(
        (
            *("solve", "sliding_tiles", *SMALL, "--count", "80", "--batch", "4"),
            *("--max-expansions", "100", "--out", "results.jsonl", "--resume"),
        ),
        lambda folder: results(folder / "results.jsonl"),
    ),
    "bench": Verb(
        ("bench", "small", "--catalogue", "catalogue.json", "--size", "quick", "--out", "bench"),
        lambda folder: results(folder / "bench" / "runs.jsonl"),
        write_catalogue,
    ),
    "collect": Verb(
        (
            *("collect", "sliding_tiles", *SMALL, "--count", "6000", "--workers", "1"),
            *("--out", "data"),
        ),
        lambda folder: (folder / "data" / "manifest.json").read_text(),
    ),
    "explore": Verb(
        (
            *("explore", "sliding_tiles", *SMALL, "--count", "400", "--max-expansions", "20"),
            *("--out", "labels.npz"),
        ),
        labels,
        last="labels.npz",
    ),
    "train": Verb(
        (
            *("train", "sliding_tiles", *SMALL, "--size", "smoke", "--parts", "heuristic"),
            *("--threads", "1", "--out", "run", "--resume"),
        ),
        fingerprint,
    ),
    "rounds": Verb(
        ("train", "--recipe", "recipe.json", "--threads", "1", "--out", "run", "--resume"),
        rounds,
        write_recipe,
    ),
}
