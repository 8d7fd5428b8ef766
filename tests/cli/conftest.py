from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import tests.toys  # noqa: F401  (registers line_world)
from hips.cli import app

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=stdin)

    return invoke
