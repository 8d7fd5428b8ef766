"""Engines run tasks. Tasks take and return plain data; the caller writes files."""

from __future__ import annotations

from hips.engines.base import Engine
from hips.engines.local import LocalEngine
from hips.errors import ConfigError, UnknownNameError

LOCAL, RAY = "local", "ray"
NAMES = (LOCAL, RAY)


def make_engine(name: str, workers: int = 1, address: str | None = None) -> Engine:
    """The engine called `name`.

    Args:
        name: `local` or `ray`.
        workers: processes of the local engine.
        address: the Ray cluster to join; None starts one on this machine.
    """
    if name not in NAMES:
        raise UnknownNameError(f"Unknown engine '{name}'. Available: {', '.join(NAMES)}.")
    if name == RAY:
        from hips.engines.ray_cluster import RayEngine

        return RayEngine(address)
    if address is not None:
        raise ConfigError("--address needs --engine ray.")
    return LocalEngine(workers)


__all__ = ["LOCAL", "NAMES", "RAY", "Engine", "LocalEngine", "make_engine"]
