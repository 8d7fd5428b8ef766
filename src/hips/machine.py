"""Description of the machine."""

from __future__ import annotations

import multiprocessing
import os
import platform
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "numba", "onnxruntime")


def cores() -> int:
    """Number of cores this process may use: one in a worker process, else all available."""
    if multiprocessing.parent_process() is not None:
        return 1
    # Not available on every system; a container may offer fewer cores than the machine has.
    affinity = getattr(os, "sched_getaffinity", None)
    return (os.cpu_count() or 1) if affinity is None else len(affinity(0))


def free_cores() -> int:
    """Number of cores that nobody else is busy with, by the load of the last minute; at least 1."""
    own = cores()
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # not known on this system
        return own
    busy_elsewhere = load - ((os.cpu_count() or own) - own)
    return max(1, min(own, round(own - busy_elsewhere)))


@lru_cache(maxsize=1)
def processor() -> str:
    """The processor's name."""
    try:
        text = Path("/proc/cpuinfo").read_text()
        return next(x.split(":", 1)[1].strip() for x in text.splitlines() if "model name" in x)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def describe() -> dict[str, Any]:
    """The machine and package versions that results depend on."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        **{package: metadata.version(package) for package in PACKAGES},
    }
