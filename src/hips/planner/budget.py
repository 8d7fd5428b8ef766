"""Limits on time, memory and expansions."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

from hips.errors import ConfigError

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
CGROUP_USE = Path("/sys/fs/cgroup/memory.current")
GUARDED_SHARE = 0.8
LARGEST = (1 << 63) - 1
UNKNOWN_MEMORY = 4 << 30
"""Assumed free memory on systems that do not report it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits, named as on the command line; None means no limit.

    A limit of zero is valid: it asks whether the start is already solved.

    >>> Budget(max_expansions=1_000, max_seconds=60.0, max_memory=1 << 30).max_seconds
    60.0

    Attributes:
        max_expansions: expanded nodes per search, the N of the paper's tables.
        max_seconds: a search's own time. Searches in lockstep share the time of a round evenly,
            so a limit means the same for one level and for many.
        max_memory: bytes of a search's own nodes.
        max_total_seconds: wall-clock time of all searches of a call together.
    """

    max_expansions: int | None = None
    max_seconds: float | None = None
    max_memory: int | None = None
    max_total_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, int) and value > LARGEST:
                raise ConfigError(f"{name} has too many digits; omit it for no limit.")
            if value is not None and (math.isnan(value) or value < 0):
                raise ConfigError(f"{name} = {value} is invalid; give 0 or more.")

    def deadline(self) -> float:
        """The `time.monotonic()` at which all searches end."""
        total = math.inf if self.max_total_seconds is None else self.max_total_seconds
        return time.monotonic() + total

    def until(self, deadline: float) -> Budget:
        """This budget for a later call with the same `deadline`."""
        if not math.isfinite(deadline):
            return self
        left = max(0.0, deadline - time.monotonic())
        return dataclasses.replace(self, max_total_seconds=left)


def available_bytes() -> int:
    """Memory available to the node table on this machine, with a margin for everything else."""
    # One of the two counts the page cache as used, although the kernel frees it on demand.
    free = max(_free_pages(), _meminfo_available()) or UNKNOWN_MEMORY
    try:
        limit = int(CGROUP_LIMIT.read_text()) - int(CGROUP_USE.read_text())
    except (OSError, ValueError):
        limit = free
    return int(max(0, min(free, limit)) * GUARDED_SHARE)


def _free_pages() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 0


def _meminfo_available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0
