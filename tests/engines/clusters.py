"""A Ray cluster of several nodes on this machine, for tests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

AGENT_PORTS = ("metrics_agent_port", "dashboard_agent_listen_port", "runtime_env_agent_port")


def node(cores: int, **more: Any) -> dict[str, Any]:
    """Arguments of a node; with given ports it need not wait for its agents on a busy machine."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in AGENT_PORTS]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [int(one.getsockname()[1]) for one in sockets]
    return {"num_cpus": cores, **dict(zip(AGENT_PORTS, ports, strict=True)), **more}


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A cluster of two nodes with one core each, joined by this process."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args=node(1, include_dashboard=False))
    try:
        made.add_node(**node(1))
        ray.init(address=made.address, log_to_driver=False)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
