"""Tasks on a Ray cluster, of this machine or of many.

The driver keeps at most a few tasks per core in flight and takes the answers of each finished
task. A task whose worker or node is lost, or whose node fails it, runs again; Ray does that. Tasks
and answers are plain data, so results do not depend on the number of nodes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from hips import plugins
from hips._version import __version__
from hips.engines.base import Answer, Receive, Task, Work
from hips.errors import HipsError, MissingExtraError
from hips.interrupts import kept, shielded

TASKS_PER_CORE = 2
"""Tasks in flight per core of the cluster: one that runs and one that waits."""
RETRIES = 5
"""How often Ray repeats a task whose worker or node is lost, or that fails by its node's fault."""
FAULTS = (OSError, MemoryError)
"""Errors of a node rather than of a task: a disk, a network, too little memory."""
PATIENCE = 1.0
"""Seconds to wait for answers before looking at the cluster again."""


@dataclass(slots=True)
class RayEngine:
    """A Ray cluster.

    Attributes:
        address: the cluster to join, e.g. `auto` or `ray://head:10001`; None starts one here.
        done: tasks finished so far.
        running: tasks in flight.
        began: `time.monotonic()` of the first task.
    """

    address: str | None = None
    done: int = 0
    running: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        ray = _import_ray()
        if not ray.is_initialized():
            try:
                with kept():
                    ray.init(address=self.address, log_to_driver=False, include_dashboard=False)
            except Exception as error:  # Ray raises that itself where a node starts too slowly
                raise HipsError(
                    f"Cannot join the Ray cluster {self.address or 'on this machine'} ({error})."
                ) from None

    @property
    def parallel(self) -> int:
        """Cores of the cluster, at least 2: a cluster never runs tasks in this process."""
        return max(2, int(_import_ray().cluster_resources().get("CPU", 1)))

    def status(self) -> str:
        """Nodes, tasks and rate."""
        nodes = sum(1 for node in _import_ray().nodes() if node["Alive"])
        rate = self.done / max(1e-9, time.monotonic() - self.began)
        return f"· {nodes} nodes · {self.running} tasks in flight · {rate:.2g} tasks/s"

    def run(
        self, work: Work[Task, Answer], tasks: Iterable[Task], receive: Receive[Task, Answer]
    ) -> None:
        """Does the work of every task on the cluster; delivers answers task by task."""
        ray = _import_ray()
        again = {"max_retries": RETRIES, "retry_exceptions": list(FAULTS)}
        remote = ray.remote(num_cpus=1, **again)(_answers)
        sources = plugins.sources()
        coming = iter(tasks)
        flying: dict[Any, Task] = {}
        try:
            while True:
                for task in islice(coming, self._room(len(flying))):
                    flying[remote.remote(work, task, sources, __version__)] = task
                self.running = len(flying)
                if not flying:
                    return
                ready, _ = ray.wait(list(flying), num_returns=1, timeout=PATIENCE)
                for reference in ready:
                    answers = _fetch(ray, reference)
                    with shielded():
                        task = flying.pop(reference)
                        self.done += 1
                        for answer in answers:
                            receive(task, answer)
        finally:
            # Not by force: where a killed worker's answer is on its way, Ray ends the driver.
            for reference in flying:
                ray.cancel(reference)
            self.running = 0

    def _room(self, flying: int) -> int:
        return max(0, self.parallel * TASKS_PER_CORE - flying)


def _answers(
    work: Work[Task, Answer], task: Task, sources: dict[Path, str], version: str
) -> list[Answer]:
    """All answers of a task; runs on a node, which needs this version of the package."""
    if version != __version__:
        raise HipsError(f"A node has hips-epsilon {__version__}; the driver has {version}.")
    plugins.load_sources(sources)
    found: list[Answer] = []
    with plugins.blamed():
        work(task, found.append)
    return found


def _fetch(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, HipsError):
            raise cause from None
        raise HipsError(f"A task failed on the cluster ({cause or error!r}).") from error
    except ray.exceptions.RayError as error:
        raise HipsError(
            f"The cluster lost a task {RETRIES + 1} times ({type(error).__name__}). Results so far "
            "are kept; repeat the command to go on."
        ) from error


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("A Ray cluster", "ray") from None
    return ray
