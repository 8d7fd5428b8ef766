"""Shared set-up of all tests."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# A shell that starts the tests in the background makes them ignore Ctrl-C, and with them every
# process they start; the tests of interruption need the usual behaviour.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a property test may compile a kernel; time is measured in benchmarks/.
settings.register_profile("hips", deadline=None)
settings.load_profile("hips")


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search before the first: tests count what a search asks of a model, in any order."""
    monkeypatch.setattr("hips.methods.runs.warm_up", lambda *unused: True)
