"""The contract of every method, and `hips methods`."""

from __future__ import annotations

import json

import pytest

from hips import domains, methods
from hips.benchmark.variants import Variant
from hips.errors import ConfigError, ModelError
from hips.methods import fast_downward, jobs
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.settings import Settings, knobs
from hips.planner.validate import is_plan
from tests.cli.conftest import Run

NAMES = methods.names()
LEVEL = "1 0 " + " ".join(str(tile) for tile in range(2, 25))


def test_the_shipped_methods_are_known() -> None:
    assert NAMES[: len(methods.SHIPPED)] == methods.SHIPPED
    assert {"hips_eps", "hips", "phs_star", "sqrt_lts", "bc", "low_level", "lama"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_method_tells_what_it_is(name: str) -> None:
    method = methods.get(name)
    assert method.name == name
    assert method.label
    assert method.about
    assert len(set(method.settings)) == len(method.settings)
    assert set(method.settings) <= set(knobs())
    assert set(method.defaults) <= set(method.settings)
    Settings(**method.defaults)


@pytest.mark.parametrize("name", NAMES)
def test_a_method_has_every_setting_that_it_lists_and_no_other(name: str) -> None:
    method, tiles = methods.get(name), domains.create("sliding_tiles")
    found = method.resolve(tiles, Settings(), None, None)
    assert set(found.given()) == set(method.settings)
    others = {"epsilon": 0.5, "max_steps": 3}
    for setting, value in others.items():
        if setting not in method.settings:
            with pytest.raises(ConfigError, match=f"'{name}' has no setting '{setting}'"):
                method.resolve(tiles, Settings(**{setting: value}), None, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_method_solves_a_level_or_says_why_it_cannot(name: str) -> None:
    tiles, method = domains.create("sliding_tiles"), methods.get(name)
    variant = Variant.of_method(method)
    if variant.missing(tiles):
        with pytest.raises(ModelError, match=r"cannot run here|needs"):
            Planner(tiles, Choice(name))
        return
    result = Planner(tiles, Choice(name)).solve(LEVEL, Budget(max_seconds=60))
    assert result.outcome is Outcome.SOLVED
    assert is_plan(tiles, tiles.parse(LEVEL), tiles.spec.action_indices(result.plan))
    assert result.provenance.method == name
    assert method.spell(Settings(**result.provenance.settings)) == variant.configuration(tiles)
    assert result.provenance.model == variant.model_hash(tiles)


@pytest.mark.parametrize("name", NAMES)
def test_a_method_is_solved_with_from_the_command_line(name: str, run: Run) -> None:
    if reason := Variant.of_method(methods.get(name)).missing(domains.create("sliding_tiles")):
        pytest.skip(reason)
    result = run("solve", "sliding_tiles", "-l", "-", "--method", name, "--json", stdin=LEVEL)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["method"] == name


def test_a_program_that_is_not_installed_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_downward, "is_installed", lambda: False)
    monkeypatch.setattr(jobs, "_planners", {})
    result = run("solve", "sliding_tiles", "-l", "-", "--method", "lama", stdin=LEVEL)
    assert "Fast Downward is not installed" in str(result.exception)


def test_methods_as_json(run: Run) -> None:
    found = json.loads(run("methods", "--json").stdout)
    assert [entry["name"] for entry in found] == list(methods.names())
    for entry in found:
        method = methods.get(entry["name"])
        assert (entry["label"], entry["about"]) == (method.label, method.description)
        assert (tuple(entry["parts"]), tuple(entry["settings"])) == (method.parts, method.settings)
        assert entry["defaults"] == dict(method.defaults)
    (one,) = json.loads(run("methods", "hips", "--json").stdout)
    assert one["name"] == "hips"


def test_methods_for_people(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = run("methods").stdout
    for name in methods.names():
        assert name in text
    detail = run("methods", "hips_eps").stdout
    for setting in methods.get("hips_eps").settings:
        assert f"--{setting.replace('_', '-')}" in detail
    assert "Did you mean 'hips_eps'?" in str(run("methods", "hips_esp").exception)
