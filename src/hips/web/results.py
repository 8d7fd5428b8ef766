"""A results folder of `hips bench`, given when the server starts: tables, curves and runs."""

from __future__ import annotations

import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field

from hips import domains
from hips.benchmark import lines, report
from hips.benchmark.document import Document, Section
from hips.errors import LevelError
from hips.web.problems import Request, Start

PAGE = 100
SHOWN = ("suite", "method", "seed", "index", "outcome", "length", "expansions", "seconds")


class RunsRequest(Request):
    """Runs to list: those of a suite and configuration, or all; from `offset` on."""

    suite: str | None = Field(None, max_length=200)
    configuration: str | None = Field(None, max_length=2_000)
    unsolved: bool = False
    offset: int = Field(0, ge=0)


class ResultsFolder:
    """Reads the folder at the first request and keeps what the page shows."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, lines.find(folder)
        self._report_lock, self._runs_lock = threading.Lock(), threading.Lock()
        self._report: dict[str, Any] | None = None
        self._runs: list[dict[str, Any]] | None = None

    def report(self) -> dict[str, Any]:
        """Tables and curves of every experiment."""
        with self._report_lock:
            if self._report is None:
                self._report = _content(report.build(self.folder, common=True))
            return self._report

    def runs(self, request: RunsRequest) -> dict[str, Any]:
        """One page of runs, and the suites and configurations to choose from."""
        every = self._all()
        chosen = [
            run
            for run in every
            if request.suite in {None, run["suite"]}
            and request.configuration in {None, run["configuration"]}
            and not (request.unsolved and run["length"] is not None)
        ]
        page = chosen[request.offset : request.offset + PAGE]
        return {
            "total": len(chosen),
            "suites": sorted({run["suite"] for run in every}),
            "configurations": sorted(
                {r["configuration"] for r in every if request.suite in {None, r["suite"]}}
            ),
            "runs": [{name: run[name] for name in ("number", *SHOWN)} for run in page],
        }

    def run(self, number: int) -> dict[str, Any]:
        """The problem of a run, with its method and settings.

        Raises:
            LevelError: there is no such run.
        """
        every = self._all()
        if not 0 <= number < len(every):
            raise LevelError(f"there is no run {number}; there are {len(every)}")
        run = every[number]
        domain = domains.create(run["domain"], **run["parameters"])
        grid = domain.parse(run["level"])
        own = domains.create(run["domain"])
        variants = {name: domains.create(run["domain"], name) for name in own.variants}
        fitting = (name for name, one in variants.items() if one == domain)
        return {
            **Start(domain.for_grid(grid), grid).describe(),
            "domain": run["domain"],
            "variant": next(fitting, None),
            "method": run["method"],
            "settings": run["settings"],
            "outcome": run["outcome"],
        }

    def _all(self) -> list[dict[str, Any]]:
        kept = (*SHOWN, "domain", "parameters", "level", "configuration")
        with self._runs_lock:
            if self._runs is None:
                found = (line for line in lines.read(self.path) if line["type"] == "run")
                self._runs = [
                    {"number": n, "settings": run.get("settings", {})}
                    | {name: run.get(name) for name in kept}
                    for n, run in enumerate(found)
                ]
            return self._runs


def _content(document: Document) -> dict[str, Any]:
    return {
        "title": document.title,
        "about": list(document.about),
        "commands": list(document.commands),
        "sections": [_section(section) for section in document.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "about": section.about,
        "notes": list(section.notes),
        "tables": [asdict(table) for table in section.tables],
        "figures": [asdict(figure) for figure in section.figures],
    }
