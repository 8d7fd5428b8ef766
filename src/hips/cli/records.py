"""Results of `hips solve` as JSON lines: written as they are found, and resumed."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hips.arrays import Grid
from hips.cli.summary import Summary
from hips.domains.base import Domain
from hips.errors import ConfigError, HipsError
from hips.files import is_special
from hips.json_lines import Appender, read
from hips.methods.base import Execution
from hips.methods.jobs import SolveJob
from hips.planner.result import Result

UNREADABLE = "0"
"""Stands for the hash of a level that could not be read."""


def level_digest(level: Grid) -> str:
    """A short hash of a level."""
    content = repr(level.shape).encode() + level.tobytes()
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def run_digest(domain: Domain, job: SolveJob) -> str:
    """A short hash of everything but the levels that determines the results.

    Batch, threads and device are left out: a run may be resumed with others. The model counts by
    its content, wherever it is.
    """
    choice = replace(job.pinned(domain).choice, model=None, execution=Execution())
    return hashlib.blake2b(
        repr((domain, replace(job, choice=choice))).encode(), digest_size=8
    ).hexdigest()


@dataclass(frozen=True, slots=True)
class Numbered:
    """The place of a level among all, and its title."""

    index: int
    title: str = ""


def make_record(domain: Domain, level: Numbered, result: Result, run: str) -> dict[str, Any]:
    """One JSON object: the result, and the plan in the community's formats."""
    start = result.start
    digest = None if start is None else level_digest(start)
    head = {**asdict(level), "domain": domain.name, "level": digest, "run": run}
    record: dict[str, Any] = {**head, **result.to_json()}
    if result.solved and start is not None:
        sized = domain.for_grid(start)
        record.update(sized.plan_formats(start, sized.spec.action_indices(result.plan)))
    return record


class Earlier:
    """Results on file from earlier runs, in 16 bytes each."""

    def __init__(self) -> None:
        self._indices = np.zeros(0, dtype=np.int64)
        self._digests = np.zeros(0, dtype=np.uint64)

    def load(self, path: Path, run: str, summary: Summary) -> None:
        """Reads a file of results of the same run.

        Raises:
            HipsError: it has results of another run, or something else.
        """
        indices, digests = array("q"), array("Q")
        with path.open("rb") as handle:
            for number, record in read(handle, path):
                try:
                    same = record["run"] == run
                    indices.append(int(record["index"]))
                    digests.append(int(record["level"] or UNREADABLE, 16))
                    summary.add(record)
                except (KeyError, TypeError, ValueError, OverflowError):
                    raise HipsError(
                        f"{path}, line {number}: not a result of `hips solve`."
                    ) from None
                if not same:
                    raise ConfigError(
                        f"{path}: has results of other settings or of another model; repeat that "
                        "command, or choose another file with --out."
                    )
        order = np.argsort(np.asarray(indices), kind="stable")
        self._indices, self._digests = np.asarray(indices)[order], np.asarray(digests)[order]

    def has(self, index: int, level: Grid | None, path: Path | None) -> bool:
        """Whether a level is on file; rejects another level of the same index."""
        place = int(np.searchsorted(self._indices, index))
        if place == len(self._indices) or self._indices[place] != index:
            return False
        digest = int(self._digests[place])
        if level is not None and digest not in (int(UNREADABLE), int(level_digest(level), 16)):
            raise ConfigError(
                f"{path}: level {index} differs from the one on file; give the same levels, or "
                "choose another file with --out."
            )
        return True

    def __len__(self) -> int:
        return len(self._indices)


@contextmanager
def opened(path: Path | None, resume: bool, run: str, summary: Summary) -> Iterator[Output]:
    """The output of a run; checks the target before the first search."""
    earlier = Earlier()
    if path is None:
        if resume:
            raise ConfigError("--resume needs --out, the file of the interrupted run.")
        yield Output(None, earlier)
        return
    if path.is_dir():
        raise HipsError(f"{path}: is a folder; give a file.")
    with Appender(path) as appender:
        if not is_special(path):
            if path.stat().st_size and not resume:
                raise ConfigError(
                    f"{path}: already exists; add --resume to continue it, or choose another file."
                )
            earlier.load(path, run, summary)
        yield Output(appender, earlier)


class Output:
    """Where records go: a file, which may hold earlier ones."""

    def __init__(self, appender: Appender | None, earlier: Earlier) -> None:
        self.appender, self.earlier = appender, earlier

    def write(self, record: dict[str, Any]) -> None:
        """Writes a record to the file, if there is one."""
        if self.appender is not None:
            self.appender.write(record)


def as_line(record: dict[str, Any]) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False)
