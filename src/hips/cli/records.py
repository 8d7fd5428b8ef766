"""Results of `hips solve` as JSON lines: written as they are found, and resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hips.arrays import Grid
from hips.cli.summary import Summary
from hips.domains.base import Domain
from hips.errors import ConfigError, HipsError
from hips.files import is_special
from hips.json_lines import Appender, read
from hips.planner.result import Result


def level_digest(level: Grid) -> str:
    """A short hash of a level."""
    content = repr(level.shape).encode() + level.tobytes()
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def run_digest(*settings: Any) -> str:
    """A short hash of everything but the levels that determines the results."""
    return hashlib.blake2b(repr(settings).encode(), digest_size=8).hexdigest()


def make_record(domain: Domain, index: int, result: Result, run: str) -> dict[str, Any]:
    """One JSON object: the result, and the plan in the community's formats."""
    start = result.start
    digest = None if start is None else level_digest(start)
    head = {"index": index, "domain": domain.name, "level": digest, "run": run}
    record: dict[str, Any] = {**head, **result.to_json()}
    if result.solved and start is not None:
        sized = domain.for_grid(start)
        record.update(sized.plan_formats(start, sized.spec.action_indices(result.plan)))
    return record


class Earlier:
    """Results on file from earlier runs, by index of the level."""

    def __init__(self) -> None:
        self._levels: dict[int, str | None] = {}

    def load(self, path: Path, run: str, summary: Summary) -> None:
        """Reads a file of results of the same run.

        Raises:
            HipsError: it has results of another run, or something else.
        """
        with path.open("rb") as handle:
            for number, record in read(handle, path):
                try:
                    same = record["run"] == run
                    self._levels[int(record["index"])] = record["level"]
                    summary.add(record)
                except (KeyError, TypeError, ValueError):
                    raise HipsError(
                        f"{path}, line {number}: not a result of `hips solve`."
                    ) from None
                if not same:
                    raise ConfigError(
                        f"{path}: has results of other settings; repeat that command, or choose "
                        "another file with --out."
                    )

    def has(self, index: int, level: Grid | None, path: Path | None) -> bool:
        """Whether a level is on file; rejects another level of the same index."""
        if index not in self._levels:
            return False
        if level is not None and self._levels[index] not in (None, level_digest(level)):
            raise ConfigError(
                f"{path}: level {index} differs from the one on file; give the same levels, or "
                "choose another file with --out."
            )
        return True

    def __len__(self) -> int:
        return len(self._levels)


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
