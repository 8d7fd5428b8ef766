"""A full disk ends a command with a message; with more room, the same command finishes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .commands import Commands
from .verbs import VERBS

pytestmark = pytest.mark.slow

SIZES = {"solve": "32k", "bench": "24k", "collect": "64k", "explore": "16k", "train": "160k"}
SIZES |= {"rounds": "800k"}
"""A disk that holds only a part of what each verb writes."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own, of one page at first."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


@pytest.mark.parametrize("name", VERBS)
def test_a_full_disk(name: str, commands: Commands, tmp_path: Path, disk: Path) -> None:
    verb = VERBS[name]
    whole = tmp_path / "whole"
    whole.mkdir()
    verb.prepare(whole)
    assert commands.run(verb.words, whole) in (0, 1)
    resize(disk, SIZES[name])
    verb.prepare(disk)
    (disk / "log").symlink_to(tmp_path / "log")
    assert commands.run(verb.words, disk) == 2
    message = (tmp_path / "log").read_text()
    assert "No space left on device" in message
    assert "Traceback" not in message
    resize(disk, "64m")
    assert commands.run(verb.words, disk) in (0, 1), (tmp_path / "log").read_text()
    assert verb.content(disk) == verb.content(whole)
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_device_that_is_full(commands: Commands, tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    words = ("solve", "sliding_tiles", "--set", "height=2", "--set", "width=2", "-n", "2")
    assert commands.run((*words, "--out", "/dev/full"), tmp_path) == 2
    assert "No space left on device" in (tmp_path / "log").read_text()
