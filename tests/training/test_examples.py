"""The example domains keep the contract; a small pocket cube gets subgoals that suffice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hips.domains import check_domain, create
from hips.models.card import Card, read_card
from hips.plugins import load as load_plugin

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("lights_out", "pocket_cube", "rush_hour")
STEPS = {
    "dynamics.training": 40,
    "reach_policy.imitation": 150,
    "subgoals.continuous": 150,
    "subgoals.discrete": 500,
    "prior.training": 300,
    "heuristic.training": 300,
    "reach_policy.chunking": 40,
}
"""Enough for a small version of the pocket cube."""


@pytest.mark.parametrize("name", NAMES)
def test_examples_keep_the_contract(name: str) -> None:
    load_plugin(EXAMPLES / f"{name}.py")
    check_domain(create(name))


def trained(name: str, folder: Path, *parameters: str) -> Card:
    """The card of a small model of an example domain, trained with defaults but for its steps."""
    options = [f"{stage}.steps={steps}" for stage, steps in STEPS.items()]
    options += [f"{stage}.validate_every={max(20, steps // 5)}" for stage, steps in STEPS.items()]
    options += ["demonstrations=2000"]
    given = [text for one in parameters for text in ("--set", one)]
    configured = [text for one in options for text in ("--config", one)]
    plugin = ["--plugin", str(EXAMPLES / f"{name}.py")]
    command = ["hips", "train", name, *plugin, *given, *configured, "--out", str(folder)]
    subprocess.run([sys.executable, "-m", *command], check=True, timeout=3600)
    return read_card(folder / "model")


@pytest.mark.slow
def test_subgoals_of_a_small_pocket_cube_suffice(tmp_path: Path) -> None:
    card = trained("pocket_cube", tmp_path / "run", "turns=8")
    assert card.parts["subgoals"].configuration["trunk"]["mixing"]
    assert card.parts["dynamics"].scores["exact"] > 0.99
    trial = card.facts["trial"]
    assert trial["hips"]["solved"] >= 0.8 * trial["hips"]["levels"]
    assert trial["hips_eps"]["expansions"] < trial["phs_star"]["expansions"]
    assert card.facts["verdict"]["parts"]["subgoals"]["level"] != "useless"
