"""A results folder for the page."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from hips.benchmark import report
from hips.benchmark.document import Document
from hips.web.results import ResultsFolder, RunsRequest


def test_the_list_of_runs_does_not_wait_for_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, listed = threading.Event(), threading.Event()

    def build(*_: object, **__: object) -> Document:
        begun.set()
        assert listed.wait(30)
        return Document("slow", (), ())

    monkeypatch.setattr(report, "build", build)
    (tmp_path / "runs.jsonl").write_text("")
    folder = ResultsFolder(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        tables = pool.submit(folder.report)
        assert begun.wait(30)
        try:
            assert pool.submit(folder.runs, RunsRequest()).result(timeout=10)["total"] == 0
        finally:
            listed.set()
        assert tables.result()["title"] == "slow"
