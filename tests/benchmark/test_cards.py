"""What the card of a model says of searches."""

from __future__ import annotations

from pathlib import Path

from hips.benchmark import lines
from hips.benchmark.cards import search_scores
from hips.benchmark.queries import Results
from tests.benchmark.stored import HIPS, HIPS_EPS, run_line, write


def test_only_runs_of_the_model_count_by_settings(tmp_path: Path) -> None:
    runs = [run_line(i, HIPS_EPS, cost, model="ours") for i, cost in enumerate([4, 6, 40, None])]
    runs += [run_line(0, HIPS, None, model="ours"), run_line(0, HIPS_EPS, 1, model="theirs")]
    found = search_scores(Results(lines.find(write(tmp_path, runs))), "ours")
    assert [(entry["search"], entry["instances"]) for entry in found] == [(HIPS, 1), (HIPS_EPS, 4)]
    failed, mixed = found
    assert (failed["solved"], failed["mean_expansions"]) == (0.0, None)
    assert mixed["solved"] == 0.75
    assert mixed["limit"] == "40 expansions"
    assert mixed["mean_expansions"] == 16.67
    assert mixed["solved_within"]["5"] == 0.25
    assert mixed["solved_within"]["30"] == 0.5
    assert mixed["solved_within"]["50"] == 0.75
    assert search_scores(Results(lines.find(tmp_path)), "nobody's") == []
