"""A search knob is one field: everything else derives from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ONE_FIELD = """
import sys
from dataclasses import dataclass

from hips.planner import settings

# What a developer would write into the class; the rest of the package is imported afterwards.
assert not {"hips.cli", "hips.methods", "hips.planner.components"} & set(sys.modules)

@dataclass(frozen=True, slots=True)
class Settings(settings.Settings):
    patience: float | None = settings.knob(
        "How long to wait for a better plan.", default=2.0, paper=1.0, low=0, high=9
    )

settings.Settings = Settings
"""
A_METHOD = """
import tests.toys
from hips import methods
from hips.methods.base import Method, Wiring
from hips.methods.low_level import build

seen = []

def build_patient(wiring: Wiring):
    seen.append(wiring.settings.patience)
    return build(wiring)

methods.register(
    Method("patient", "Patient", "waits", build_patient, settings=("evaluation", "patience"))
)
"""
SHOW = """
import json
from typer.testing import CliRunner
from hips import domains
from hips.benchmark.experiments import Catalogue
from hips.benchmark.variants import Variant
from hips.cli import app
from hips.methods.jobs import SolveJob

def run(*arguments):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    return {"code": result.exit_code, "text": result.stdout, "error": str(result.exception)}

def solve(*options):
    return run("solve", "line_world", "--method", "patient", "--json", *options)

line = domains.create("line_world")
entry = {"method": "patient", "settings": {"patience": 3.5}}
variant = Variant.from_json("p", entry)
found = {
    "help": run("solve", "--help"),
    "detail": run("methods", "patient"),
    "given": solve("--patience", "4.5"),
    "default": solve(),
    "paper": solve("--settings", "paper", "--evaluation", "levin_ts"),
    "beyond": solve("--patience", "10"),
    "elsewhere": run("solve", "line_world", "--method", "low_level", "--patience", "4"),
    "configuration": variant.configuration(line),
    "plain": Variant.from_json("q", {"method": "patient"}).configuration(line),
    "result": SolveJob(variant.choice(line, 1)).solve(
        line, line.sample(__import__("numpy").random.default_rng(0), 1)
    )[0].to_json(),
    "seen": seen,
}
print(json.dumps(found))
"""


def test_a_new_knob_is_one_field() -> None:
    result = subprocess.run(
        [sys.executable, "-c", ONE_FIELD + A_METHOD + SHOW],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert "--patience " in found["help"]["text"]
    assert "How long to wait for a better plan. In [0, 9]." in found["help"]["text"]
    assert "--patience" in found["detail"]["text"]
    for case, value in (("given", 4.5), ("default", 2.0), ("paper", 1.0)):
        assert found[case]["code"] == 0, found[case]["error"]
        assert json.loads(found[case]["text"])["settings"]["patience"] == value
    assert "patience = 10.0 is not in [0, 9]" in found["beyond"]["error"]
    assert "'low_level' has no setting 'patience'" in found["elsewhere"]["error"]
    assert "patience=2" in found["plain"].split()
    # The text is the key of stored results: it must be of the settings that a result tells.
    assert found["configuration"] == "patient evaluation=levin_ts patience=3.5"
    assert found["result"]["settings"] == {"evaluation": "levin_ts", "patience": 3.5}
    assert found["seen"] == [4.5, 2.0, 1.0, 3.5]
