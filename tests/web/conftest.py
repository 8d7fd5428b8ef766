"""A real server on a free port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from hips.web.limits import Limits
from hips.web.server import Address, Site, prepare

Serve: TypeAlias = Callable[..., str]


@contextmanager
def served(site: Site) -> Iterator[str]:
    thread = threading.Thread(target=site.run, daemon=True)
    thread.start()
    try:
        yield site.url
    finally:
        site.stop()
        thread.join(timeout=10)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers with given limits; they end with the test."""
    with ExitStack() as stack:

        def start(limits: Limits | None = None, results: Path | None = None) -> str:
            return stack.enter_context(served(prepare(Address(port=0), limits, results)))

        yield start


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """A server with the usual limits."""
    with served(prepare(Address(port=0))) as url:
        yield url


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as found:
        yield found
