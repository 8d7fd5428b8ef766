"""A Ray cluster of several nodes on this machine, for tests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

ATTEMPTS = 4
AGENT_PORTS = ("metrics_agent_port", "dashboard_agent_listen_port", "runtime_env_agent_port")


def node(cores: int, **more: Any) -> dict[str, Any]:
    """Arguments of a node; with given ports it need not wait for its agents on a busy machine."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in AGENT_PORTS]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [int(one.getsockname()[1]) for one in sockets]
    return {"num_cpus": cores, **dict(zip(AGENT_PORTS, ports, strict=True)), **more}


def started_head() -> Any:
    """A cluster of one node; Ray gives up on a node that does not start within 30 seconds."""
    from ray.cluster_utils import Cluster

    for attempt in range(ATTEMPTS):
        try:
            return Cluster(initialize_head=True, head_node_args=node(1, include_dashboard=False))
        except Exception as error:
            if attempt == ATTEMPTS - 1 or "timed out during startup" not in str(error):
                raise
    raise AssertionError("no attempt was made")


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A cluster of two nodes with one core each, joined by this process."""
    import ray

    made = started_head()
    try:
        made.add_node(**node(1))
        ray.init(address=made.address, log_to_driver=False)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
