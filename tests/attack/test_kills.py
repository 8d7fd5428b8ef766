"""Kills at random moments: nothing is lost, nothing is done twice, the result is the same."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from hips.seeding import stream

from .commands import Commands
from .verbs import VERBS

pytestmark = pytest.mark.slow

KILLS = 50
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
EXIT_CODES = {signal.SIGKILL: -9, signal.SIGTERM: 130, signal.SIGINT: 130}


@pytest.mark.parametrize("name", VERBS)
def test_killed_commands_continue(name: str, commands: Commands, tmp_path: Path) -> None:
    verb = VERBS[name]
    seconds, expected = 0.0, None
    for attempt in ("first", "second"):  # the first one loads what the second finds in memory
        whole = tmp_path / attempt
        whole.mkdir()
        verb.prepare(whole)
        began = time.monotonic()
        assert commands.run(verb.words, whole) in (0, 1), (whole / "log").read_text()
        seconds = time.monotonic() - began
        assert expected in (None, verb.content(whole))
        expected = verb.content(whole)
    rng = stream(0, "kills", name)
    kills = folders = 0
    while kills < KILLS:
        folder = tmp_path / f"killed-{folders}"
        folders += 1
        folder.mkdir()
        verb.prepare(folder)
        while kills < KILLS and not verb.is_done(folder):
            number = SIGNALS[int(rng.integers(len(SIGNALS)))]
            moment = float(rng.uniform(0.0, 0.3 * seconds))
            code = commands.killed(verb.words, folder, number, moment)
            if code in (0, 1):
                break
            assert code == EXIT_CODES[number], (folder / "log").read_text()
            kills += 1
        if not verb.is_done(folder):
            assert commands.run(verb.words, folder) in (0, 1), (folder / "log").read_text()
        assert verb.content(folder) == expected
        assert "Traceback" not in (folder / "log").read_text()
        assert not [path for path in folder.rglob("*partial*")]
