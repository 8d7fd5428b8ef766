"""Plug-ins: loaded once, and refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from hips import plugins
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
    """Workers on the same machine see both."""
    file = tmp_path / "sent_to_workers.py"
    file.write_text("sent = True\n")
    plugins.load_sources({file.name: file.read_text()})
    before = plugins.loaded()
    plugins.load(file)
    assert plugins.loaded() == before
    file.write_text("changed = True\n")
    plugins.load(file)
    assert len(plugins.loaded()) == len(before) + 1
