"""The command as people start it: exit codes, streams, start-up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = """
from __future__ import annotations
from dataclasses import dataclass
from tests.toys import LineWorld
from hips.domains import register

@register("plugged_line")
@dataclass(frozen=True)
class Plugged(LineWorld):
    '''A line from a plug-in.'''
"""


def hips(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hips", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sample", "sokobn"), "Unknown domain 'sokobn'"),
        (("show", "/nowhere/levels.txt", "-d", "sokoban"), "no such file"),
        (("show", "/", "-d", "sokoban"), "is a folder"),
        (("sample", "sokoban", "--plugin", "/nowhere.py"), "no such Python file"),
        (("sample", "sokoban", "--variant", "huge"), "no variant 'huge'"),
        (("sample", "sokoban", "--count", "0"), "--count"),
        (("collect", "sokoban"), "--out"),
        (("fly",), "fly"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    result = hips(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_noise_is_refused(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 1000)
    result = hips("show", str(tmp_path / "noise"), "-d", "sokoban")
    assert result.returncode == 2
    assert "not UTF-8" in result.stderr


def test_an_unwritable_file_is_named() -> None:
    result = hips("sample", "sliding_tiles", "--out", "/proc/nothing/levels.txt")
    assert result.returncode == 2
    assert "/proc/nothing/levels.txt: cannot be written" in result.stderr


def test_messages_keep_their_brackets() -> None:
    result = hips("show", "[bold]x[/]", "-d", "sokoban")
    assert "[bold]x[/]: no such file" in result.stderr


def test_a_plugin_becomes_a_domain(tmp_path: Path) -> None:
    (tmp_path / "plugged.py").write_text(PLUGIN)
    result = hips("domains", "plugged_line", "--plugin", str(tmp_path / "plugged.py"))
    assert result.returncode == 0
    assert "A line from a plug-in." in result.stdout


def test_a_broken_plugin_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nothing_like_this")
    result = hips("domains", "--plugin", str(tmp_path / "broken.py"))
    assert result.returncode == 2
    assert "broken.py" in result.stderr
    assert "Traceback" not in result.stderr


def test_listing_domains_imports_no_torch() -> None:
    script = (
        "import sys; from hips.cli import app; app(['domains'], standalone_mode=False); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0


COMPILED_PLUGIN = """
from dataclasses import dataclass
from pathlib import Path
import numba
from tests.toys import LineWorld
from hips.domains import register

@numba.njit
def spin(rounds):
    total = 1
    for i in range(rounds):
        total = (total * 3 + i) % 1000003
    return total

@register("busy_line")
@dataclass(frozen=True)
class Busy(LineWorld):
    def expert(self, state, rng, quality=1.0):
        spin(10)
        Path("ready").touch()
        while True:
            spin(10**7)
"""


def test_an_interrupted_collection_ends_at_once_with_130(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(COMPILED_PLUGIN)
    options = ["--plugin", "busy.py", "--count", "5", "--out", "data"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hips", "collect", "busy_line", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 600
    while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "repeat the command to resume" in errors
    assert "Traceback" not in errors
