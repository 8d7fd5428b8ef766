"""Files are written whole or not at all, and reading explains what is wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hips import files
from hips.errors import HipsError


def test_text_and_json_come_back(tmp_path: Path) -> None:
    files.write_text(tmp_path / "new" / "folder" / "a.txt", "grün\n")
    assert files.read_text(tmp_path / "new" / "folder" / "a.txt") == "grün\n"
    files.write_json(tmp_path / "a.json", {"ε": [1, 2]})
    assert files.read_json(tmp_path / "a.json") == {"ε": [1, 2]}


def write_half(path: Path) -> None:
    with files.replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    with pytest.raises(RuntimeError):
        write_half(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_with_content_is_not_new(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("hours of work")
    (tmp_path / "empty").touch()
    for path in (tmp_path / "empty", tmp_path / "missing", tmp_path, Path("/dev/null")):
        files.require_new(path)
    with pytest.raises(HipsError, match="full: already exists; choose another file"):
        files.require_new(tmp_path / "full")


def test_the_temporary_name_keeps_the_suffix(tmp_path: Path) -> None:
    with files.replacing(tmp_path / "a.png") as temporary:
        assert temporary.suffix == ".png"
        temporary.write_bytes(b"x")
    assert (tmp_path / "a.png").read_bytes() == b"x"


def test_hashes(tmp_path: Path) -> None:
    files.write_bytes(tmp_path / "a", b"abc")
    assert files.sha256(tmp_path / "a") == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe", "not a text file"), (b'{"a": ', "not valid JSON"), (b"", "not valid JSON")],
)
def test_damaged_files_are_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "damaged.json"
    path.write_bytes(content)
    with pytest.raises(HipsError, match=words) as caught:
        files.read_json(path)
    assert str(path) in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(HipsError, match="no such file"):
        files.read_text(tmp_path / "absent")
    with pytest.raises(HipsError, match="is a folder"):
        files.read_text(tmp_path)


def test_huge_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "huge").write_bytes(bytes(2 << 20))
    with pytest.raises(HipsError, match="larger than 1 MiB"):
        files.read_text(tmp_path / "huge", limit=1 << 20)
