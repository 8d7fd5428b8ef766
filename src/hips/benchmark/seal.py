"""Sealed instances: kept for final figures, opened on record, refused for tuning."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hips._version import __version__
from hips.arrays import Grid
from hips.benchmark import lines
from hips.benchmark.experiments import load
from hips.benchmark.suites import fingerprint
from hips.domains import Domain
from hips.errors import HipsError
from hips.files import read_json, write_json
from hips.seeding import SEALED

FILE = "sealed.json"
COMPARED = 1000
"""How many sealed instances of each suite tuning commands compare their levels with."""
Searches: TypeAlias = Mapping[str, Mapping[str, str | None]]
"""Fingerprints of the models, by suite and configuration."""


def openings(folder: Path) -> list[dict[str, Any]]:
    """The recorded openings of a results folder, oldest first."""
    path = folder / FILE
    return list(read_json(path)) if path.is_file() else []


def record_opening(folder: Path, searches: Searches, command: str) -> None:
    """Records an opening next to the results, unless it repeats one with the same searches."""
    known = openings(folder)
    if any(_within(searches, opening["searches"]) for opening in known):
        return
    opening = {
        "opened": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "version": __version__,
        "command": command,
        "searches": {suite: dict(own) for suite, own in searches.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, [*known, opening])


def reopened(folder: Path) -> str:
    """A warning if suites were opened again with other settings or models; else empty."""
    known = openings(folder)
    seen: set[str] = set()
    again: set[str] = set()
    for opening in known:
        suites = set(opening["searches"])
        again |= suites & seen
        seen |= suites
    if not again:
        return ""
    return (
        f"the sealed instances of {', '.join(sorted(again))} were opened more than once, with "
        f"different settings or models ({len(known)} openings in {folder / FILE}); figures chosen "
        "after the first opening are not final figures."
    )


def refuse_results(path: Path, purpose: str) -> None:
    """Refuses results on sealed instances for `purpose`, a kind of tuning."""
    for line in lines.read(path):
        if line["type"] == "run" and line["source"] == SEALED:
            raise HipsError(
                f"{path}: has runs on sealed instances, which {purpose} must not use; they are for "
                "final figures (`hips bench report`). Use development instances."
            )


def refuse_levels(domain: Domain, levels: Sequence[Grid], purpose: str) -> None:
    """Refuses levels that are sealed instances for `purpose`, a kind of tuning.

    They are compared with the first `COMPARED` sealed instances of seed 0 of every suite of the
    catalogue on this domain.
    """
    given = {fingerprint(domain, level) for level in levels}
    book = load()
    for name in book.suites:
        suite = book.suites.get(name)
        if suite.domain != domain.name:
            continue
        drawn = {one.sha256 for one in suite.on_sealed().instances(COMPARED, 0)}
        if found := len(given & drawn):
            raise HipsError(
                f"{found} of the levels are sealed instances of the suite '{name}', which "
                f"{purpose} must not use: they are for final figures (`hips bench --sealed`)."
            )


def _within(searches: Searches, known: Searches) -> bool:
    return all(
        known.get(suite, {}).get(configuration, "") == model
        for suite, own in searches.items()
        for configuration, model in own.items()
    )
