from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hips import domains, methods, parts
from hips.benchmark import lines, seal
from hips.errors import ConfigError, HipsError, UnknownNameError
from hips.seeding import SEALED
from hips.training.config import default_config
from tests.benchmark.conftest import model as model
from tests.benchmark.conftest import toy_catalogue
from tests.benchmark.stored import stored_lines, write
from tests.cli.conftest import Run
from tests.models.untrained import export_untrained

TOY = ("--catalogue", "toys.json")


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path) -> None:
    (tmp_path / "toys.json").write_text(json.dumps(toy_catalogue()))


def test_help_gives_an_example(run: Run) -> None:
    assert "hips bench table1" in run("bench", "--help").stdout
    assert "--levels" in run("bench", "table1", "--help").stdout


def test_names_are_listed(run: Run) -> None:
    found = json.loads(run("bench", "list", "--json").stdout)
    assert found["experiments"][0] == "table1"
    assert "table1" in run("bench", "list").stdout


@pytest.mark.usefixtures("model")
def test_an_experiment_by_name_makes_results_and_reports(run: Run, tmp_path: Path) -> None:
    result = run("bench", "three", *TOY, "--problems", "3", "--out", "r")
    assert result.exit_code == 0, result.output
    assert "| HIPS-ε " in result.stdout
    assert "18 new runs" in result.stderr
    assert "competition scores" not in result.stdout
    assert "competition scores" in (tmp_path / "r" / "report.md").read_text()
    assert (tmp_path / "r" / "report.html").stat().st_size < 1_500_000
    assert (tmp_path / "r" / "figures" / "three-line.svg").exists()
    again = run("bench", "three", *TOY, "--problems", "3", "--out", "r", "--json")
    assert json.loads(again.stdout)["written"] == 0


@pytest.mark.usefixtures("model")
def test_all_runs_everything(run: Run) -> None:
    result = run("bench", "all", *TOY, "--problems", "1", "--method", "hips_eps")
    assert result.exit_code == 0, result.output
    for name in ("everything", "three", "clock"):
        assert f"## {name}" in result.stdout


def test_a_registered_method_that_is_not_in_the_catalogue_is_a_row(
    run: Run, tmp_path: Path
) -> None:
    ran = ("bench", "three", *TOY, "--problems", "2", "--method", "low_level")
    result = run(*ran)
    assert result.exit_code == 0, result.output
    assert "4 new runs" in result.stderr
    assert f"| {methods.get('low_level').label} |" in result.stdout
    assert "HIPS-ε" not in result.stdout
    found = list(lines.read(tmp_path / "bench-results" / lines.FILE))
    assert [entry["name"] for entry in found[0]["added"]] == ["low_level"]
    assert set(found[0]["configurations"]["line"]) == {"low_level"}
    assert {line["method"] for line in found[1:]} == {"low_level"}
    assert json.loads(run(*ran, "--json").stdout)["written"] == 0
    assert run("bench", "report").exit_code == 0
    assert methods.get("low_level").label in (tmp_path / "bench-results/report.md").read_text()


@pytest.mark.usefixtures("model")
def test_levels_of_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "levels.txt").write_text("10000000\n")
    ran = ("bench", "three", *TOY, "--method", "hips_eps")
    assert run(*ran, "--levels", "line=levels.txt", "--suite", "line").exit_code == 0
    found = [line for line in lines.read(tmp_path / "bench-results" / lines.FILE)]
    assert [line["level"] for line in found if line["type"] == "run"] == ["10000000"]
    assert isinstance(run(*ran, "--levels", "levels.txt").exception, ConfigError)
    assert isinstance(run(*ran, "--levels", "x=levels.txt").exception, UnknownNameError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tabel1",), "Did you mean 'table1'?"),
        (("table1", "--method", "magic"), "Unknown method 'magic'. Available: phs_star"),
        (("table1", "--suite", "chess"), "Unknown suite 'chess'. Available: sokoban"),
        (("table1", "--size", "huge"), "Unknown size 'huge'. Available: quick, standard, full"),
        (("table2", "--suite", "box_world"), "No experiment has"),
        (("table1", "--catalogue", "nothing.json"), "nothing.json: no such file"),
        (("table1", "--model", "nothing"), "No model 'nothing'"),
        (("report", "nowhere"), "no results here"),
        (("compare", "nowhere", "nowhere"), "no results here"),
    ],
)
def test_bad_input_says_what_is_allowed(run: Run, arguments: tuple[str, ...], message: str) -> None:
    error = run("bench", *arguments).exception
    assert isinstance(error, HipsError)
    assert message in str(error)


def test_reports_and_comparisons_of_stored_results(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a", stored_lines())
    write(tmp_path / "b", stored_lines())
    made = run("bench", "report", "a", "--out", "docs")
    assert made.exit_code == 0, made.output
    assert {Path(line).name for line in made.stdout.split()} >= {"report.md", "report.html"}
    assert (tmp_path / "docs" / "report.html").exists()
    compared = run("bench", "compare", "a", "b", "--out", "c")
    assert compared.exit_code == 0, compared.output
    assert "p (solved)" in compared.stdout
    assert (tmp_path / "c" / "report.html").exists()


def test_listing_loads_no_duckdb() -> None:
    script = (
        "import sys; from hips.cli import app; app(['bench', 'list'], standalone_mode=False); "
        "sys.exit(bool({'duckdb', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0


@pytest.mark.usefixtures("model")
def test_sealed_instances_are_run_recorded_and_reported_apart(run: Run, tmp_path: Path) -> None:
    ran = ("bench", "three", *TOY, "--suite", "long", "--method", "hips_eps", "--problems", "2")
    first = run(*ran, "--out", "r")
    result = run(*ran, "--out", "r", "--sealed")
    assert result.exit_code == 0, result.output
    assert "2 new runs" in result.stderr
    assert "sealed" in result.stdout
    assert "sealed" not in first.stdout
    runs = [line for line in lines.read(tmp_path / "r" / lines.FILE) if line["type"] == "run"]
    sources = [line["source"] for line in runs]
    assert sources.count(SEALED) == len(sources) - 2 == 2
    assert len({line["instance"] for line in runs}) == 4
    (opening,) = seal.openings(tmp_path / "r")
    assert set(opening["searches"]) == {"long"}
    compared = run("bench", "compare", "r", "r")
    assert "sealed" in str(compared.exception)


SWAP = {
    "title": "Swap",
    "rules": ["diagnosis"],
    "swap": {"method": "hips_eps", "base": "base", "donor": "donor", "named": "paper"},
    "parts": [{"suite": "line", "points": [3, None]}],
}
DIAGNOSIS = {"full": {"label": "full"}, "diagnosis": {"label": "a diagnosis", "open": True}}


def test_models_exchange_their_parts(run: Run, tmp_path: Path) -> None:
    content = toy_catalogue()
    content["experiments"]["swap"] = SWAP
    (tmp_path / "swap.json").write_text(json.dumps({**content, "rules": DIAGNOSIS}))
    domain = domains.create("line_world")
    names = ("reach_policy", "subgoals", "prior", "heuristic")
    parts_of = {name: part for name, part in parts.known().items() if name in names}
    for seed, name in enumerate(("base", "donor")):
        config = default_config(domain, parts_of, "smoke", seed)
        export_untrained(domain, config, tmp_path / name)
    models = ("--catalogue", "swap.json", "--model", "base", "--donor", "donor")
    result = run("bench", "swap", *models, "--problems", "2", "--out", "r")
    assert result.exit_code == 0, result.output
    runs = [line for line in lines.read(tmp_path / "r" / lines.FILE) if line["type"] == "run"]
    rows = {line["configuration"].rpartition("model=")[2] for line in runs}
    assert len(rows) == 8  # every choice of generator, policy and heuristic
    assert "base+heuristic@donor" in rows
    assert len(runs) == 16
    assert len({line["model"] for line in runs}) == 8
    for exchanged in ("heuristic", "reach_policy", "subgoals + prior"):
        assert f"base, {exchanged} of donor" in result.stdout
