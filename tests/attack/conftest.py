from __future__ import annotations

from collections.abc import Iterator

import pytest

from .commands import Commands


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    """Starts commands in processes forked from a warm one."""
    with Commands() as started:
        yield started
