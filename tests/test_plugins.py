"""Plug-ins: loaded once, and refused with a reason."""

from __future__ import annotations

import stat
import sys
import tempfile
from pathlib import Path

import pytest

from hips import domains, plugins
from hips.errors import HipsError


def test_plugins_that_are_no_python_files(tmp_path: Path) -> None:
    with pytest.raises(HipsError, match="no such Python file"):
        plugins.load(tmp_path / "absent.py")
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('boom')")
    with pytest.raises(HipsError, match="boom"):
        plugins.load(broken)


def test_a_plugin_is_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_LOADED", {})
    plugin = tmp_path / "loaded_once.py"
    plugin.write_text(f"open({str(tmp_path / 'log')!r}, 'a').write('x')")
    for _ in range(2):
        plugins.load(plugin)
    assert (tmp_path / "log").read_text() == "x"
    assert plugins.loaded() == (plugin.resolve(),)


def test_a_plugin_that_fails_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_LOADED", {})
    plugin = tmp_path / "fails_first.py"
    plugin.write_text("raise RuntimeError('boom')")
    with pytest.raises(HipsError, match="boom"):
        plugins.load(plugin)
    assert plugins.loaded() == ()
    plugin.write_text("")
    plugins.load(plugin)
    assert plugins.loaded() == (plugin.resolve(),)


def test_a_plug_in_that_came_as_text_is_not_loaded_again_from_its_file(tmp_path: Path) -> None:
    """Workers on the same machine see both; what the sender has loaded counts."""
    file = tmp_path / "sent_to_workers.py"
    file.write_text("sent = True\n")
    plugins.load_sources({file: file.read_text()})
    before = plugins.loaded()
    plugins.load(file)
    file.write_text("raise RuntimeError('changed since')\n")
    plugins.load(file)
    file.unlink()
    plugins.load(file)
    assert plugins.loaded() == before


def write_namesakes(folder: Path, names: tuple[str, str]) -> list[Path]:
    """Two plug-ins with one file name, each of which registers a domain."""
    files = []
    for name in names:
        (folder / name).mkdir(parents=True)
        files.append(folder / name / "same_name.py")
        files[-1].write_text(
            "from dataclasses import dataclass\n"
            "from hips.domains import register\n"
            "from hips.domains.sliding_tiles import SlidingTiles\n"
            f"@register({name!r})\n"
            "@dataclass(frozen=True)\n"
            "class Tiles(SlidingTiles):\n"
            f"    '''{name}'''\n"
        )
    return files


def test_two_plugins_with_the_same_file_name(tmp_path: Path) -> None:
    names = ("namesake_one", "namesake_two")
    for file in write_namesakes(tmp_path, names):
        plugins.load(file)
    kinds = [type(domains.create(name)) for name in names]
    modules = [sys.modules[kind.__module__] for kind in kinds]
    assert [module.Tiles for module in modules] == kinds


def test_two_plugins_with_the_same_file_name_travel_as_text(tmp_path: Path) -> None:
    names = ("travelling_one", "travelling_two")
    files = write_namesakes(tmp_path, names)
    plugins.load_sources({file: file.read_text() for file in files})
    assert set(names) <= set(domains.names())
    sent = plugins.sources()
    assert {file.read_text() for file in files} <= set(sent.values())
    for file in files:
        plugins.load(file)
    assert plugins.sources() == sent


def test_text_is_never_loaded_from_a_folder_that_others_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    plugins.load_sources({tmp_path / "first.py": "first = 1\n"})
    (usual,) = tmp_path.glob("hips-plugins-*")
    usual.chmod(0o777)
    monkeypatch.setattr(plugins, "_SHIPPED", {})
    monkeypatch.setattr(plugins, "_LOADED", {})
    plugins.load_sources({tmp_path / "first.py": "first = 1\n"})
    (used,) = plugins.loaded()
    assert used.parent != usual
    assert stat.S_IMODE(used.parent.stat().st_mode) == 0o700
