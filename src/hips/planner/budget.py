"""What one search may use."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from hips.errors import ConfigError

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
CGROUP_USE = Path("/sys/fs/cgroup/memory.current")
GUARDED_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one search; None means no limit.

    A limit of zero is a valid question: is the start already solved?

    >>> Budget(expansions=1_000, seconds=60.0, bytes=1 << 30).seconds
    60.0

    Attributes:
        expansions: expanded nodes, the N of the paper's tables.
        seconds: wall-clock time since the search began.
        bytes: memory of the search's own nodes.
    """

    expansions: int | None = None
    seconds: float | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and (math.isnan(value) or value < 0):
                raise ConfigError(f"A budget of {value} {name} is impossible; give 0 or more.")


def available_bytes() -> int:
    """Memory that a table of nodes may take on this machine, with a margin for everything else."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # Page cache counts as used here although the kernel gives it back on demand.
    free = max(free, _meminfo_available())
    try:
        limit = int(CGROUP_LIMIT.read_text()) - int(CGROUP_USE.read_text())
    except (OSError, ValueError):
        limit = free
    return int(max(0, min(free, limit)) * GUARDED_SHARE)


def _meminfo_available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0
