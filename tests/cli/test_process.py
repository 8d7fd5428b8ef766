"""The command as people start it: exit codes, streams, start-up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COLOUR_PLUGIN = """
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
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"},
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
    (tmp_path / "plugged.py").write_text(COLOUR_PLUGIN)
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
