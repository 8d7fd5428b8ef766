from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hips import domains, methods
from hips.benchmark import experiments, published
from hips.benchmark.experiments import Catalogue, Experiment
from hips.benchmark.suites import Suite, combined
from hips.benchmark.tasks import Limits
from hips.benchmark.variants import Variant
from hips.errors import ConfigError, HipsError, LevelError, UnknownNameError
from hips.methods.jobs import SolveJob
from hips.models import bundle
from hips.models.card import read_card, write_card
from hips.planner import settings
from hips.planner.budget import Budget

PAPER = experiments.load()
NAMES = (
    "table1",
    "table2",
    "table3",
    "table4",
    "evaluations",
    "gbfs",
    "astar",
    "weighted-astar",
    "epsilon",
    "ood-boxworld",
    "ood-sokoban",
    "lowlevel-share",
    "wallclock",
    "env-steps",
    "protocol",
    "peers",
    "paper-data",
    "swap",
)
BASELINES = {"adasubs", "ksubs", "adasubs_gbfs", "ksubs_gbfs", "bc", "cql", "dt"}


def test_every_experiment_of_the_paper_is_there() -> None:
    assert PAPER.experiments.names() == NAMES
    assert PAPER.sizes.names() == ("quick", "standard", "full")
    assert PAPER.sizes.get("quick").minutes == 5


@pytest.mark.parametrize("name", NAMES)
def test_methods_and_suites_exist(name: str) -> None:
    allowed = PAPER.experiments.get(name).allowed
    for part in [part for rules in allowed for part in PAPER.find(name, rules).parts]:
        domain = part.suite.make_domain()
        assert len({row.name for row in part.rows}) == len(part.rows)
        for row in part.rows:
            assert row.variant.configuration(domain)
        for reference in (part.solved_by, part.ratio_to):
            assert reference is None or reference in {row.name for row in part.rows}


def test_no_search_goes_on_beyond_the_last_point_of_its_table() -> None:
    size = PAPER.sizes.get("standard")
    found = {
        name: [
            Limits.of(size, experiment, part)
            for experiment in [PAPER.experiments.get(name)]
            for part in experiment.parts
        ]
        for name in ("table1", "table3", "table4", "wallclock", "env-steps")
    }
    assert [limits.expansions for limits in found["table4"]] == [200, 200, 20, 100]
    for name in ("table1", "table3", "env-steps"):
        assert {limits.expansions for limits in found[name]} == {size.expansions}
    assert set(found["wallclock"]) == {Limits(True, None, size.seconds)}


def test_every_published_row_is_run_or_known_to_be_missing() -> None:
    tables = json.loads((experiments.DATA / "published.json").read_text())["tables"]
    for name, table in tables.items():
        parts = {part.suite.name: part for part in PAPER.find(name, "paper").parts}
        assert set(table["suites"]) == set(parts)
        for suite, content in table["suites"].items():
            rows = {row.name for row in parts[suite].rows}
            assert set(content["rows"]) - rows <= BASELINES
            points = list(content["points"])
            assert list(parts[suite].points) in (points, points[:-1])
            for values in content["rows"].values():
                assert len(values) == len(content["points"])


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (("table1", "sliding_tiles", "hips_eps", 100), "69.5 ± 3.9"),
        (("table1", "sokoban", "hips", None), "97.9 ± 0.4"),
        (("table2", "tsp", "hips_learned", None), "99.9 ± 0.1"),
        (("table3", "sliding_tiles", "hips", "mean"), "108.9 ± 6.9"),
        (("table4", "box_world", "hips_eps_dist", 20), "94.7 ± 0.5"),
        (("gbfs", "sliding_tiles", "hips_gbfs", 50), "78.6 ± 2.6"),
        (("astar", "tsp", "hips_eps_astar", 20), "52.4 ± 13.3"),
        (("ood-boxworld", "box_world_ood", "hips_eps_1e-5", 200), "80.7 ± 1.6"),
        (("wallclock", "tsp", "hips_eps_astar_learned", 7.5), "96.6 ± 1.3"),
        (("env-steps", "sokoban", "hips_eps_with_model_calls", 250), "42.4 ± 2.7"),
        (("table4", "tsp", "hips_eps_levin_ts", 20), "None"),
        (("table1", "sokoban", "hips", 75), "None"),
    ],
)
def test_published_values(place: tuple[str, str, str, float | None], expected: str) -> None:
    assert str(published.value(*place)) == expected


def test_equal_settings_have_one_configuration() -> None:
    tiles, boxes = domains.create("sliding_tiles"), domains.create("box_world")
    best, fixed = PAPER.methods.get("hips_eps"), PAPER.methods.get("hips_eps_0")
    assert best.configuration(tiles) == fixed.configuration(tiles)
    assert best.configuration(boxes) != fixed.configuration(boxes)


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models that takes precedence over the shipped ones."""
    monkeypatch.setenv(bundle.SEARCH_VARIABLE, str(tmp_path / "models"))
    return tmp_path / "models"


def install(folder: Path, **changes: Any) -> None:
    """Installs the shipped model for tiles there, with some of its card changed."""
    shipped = bundle.shipped_folder() / "sliding_tiles"
    card = read_card(shipped)
    shutil.copytree(shipped, folder, dirs_exist_ok=True)
    write_card(folder, dataclasses.replace(card, **changes))


CHANGES: dict[str, Any] = {
    "evaluation": "dist",
    "epsilon": 0.5,
    "dynamics": "hybrid",
    "generator": "repeat_action",
    "top_p": 0.3,
    "prior_temperature": 5.0,
    "heuristic_weight": 7.0,
    "min_reach_probability": 0.6,
    "chunk_confidence": 0.71,
    "horizon": 3,
    "rollouts": "late",
    "rollout_retries": 1,
    "pass_goals": False,
    "decoding": "cells",
    "equal_subgoals": "max",
    "legality_check": False,
    "close_on_generation": True,
    "width": 3,
    "shares": "time",
    "head_start": 7,
    "early_expansions": 5,
    "early_top_p": 0.3,
    "precision": "fp32",
}


def test_every_setting_of_the_search_is_changed_below() -> None:
    assert set(CHANGES) == set(methods.get("hips_eps").settings)


@pytest.mark.parametrize("setting", CHANGES)
def test_whatever_a_card_says_of_the_search_is_in_the_configuration(
    setting: str, models: Path
) -> None:
    tiles, plain = domains.create("sliding_tiles"), Variant("v", "v", "hips_eps")
    before, value = plain.configuration(tiles), CHANGES[setting]
    install(models / "sliding_tiles", settings={setting: value})
    after = plain.configuration(tiles)
    assert after != before
    assert f" {settings.spell({setting: value})}" in after
    fixed = Variant("f", "f", "hips_eps", {setting: value})
    assert fixed.configuration(tiles) == after


def test_the_paper_s_settings_are_a_configuration_of_their_own() -> None:
    tiles = domains.create("sliding_tiles")
    named = Variant("v", "v", "hips_eps", named="paper").resolved(tiles)
    assert (
        named.given().items()
        >= {"epsilon": 1e-5, "top_p": 1.0, "close_on_generation": True}.items()
    )
    own = Variant("v", "v", "hips_eps", {"epsilon": 0.1}, named="paper").resolved(tiles)
    assert (own.epsilon, own.min_reach_probability) == (0.1, 0.0)


@pytest.mark.parametrize("named", [None, "paper"])
@pytest.mark.parametrize("name", ["low_level", "phs_star", "hips_eps"])
def test_the_configuration_is_that_of_the_search(name: str, named: str | None) -> None:
    tiles = domains.create("sliding_tiles")
    variant = Variant("v", "v", name, named=named)
    level = tiles.parse("1 0 " + " ".join(str(tile) for tile in range(2, 25)))
    job = SolveJob(variant.choice(tiles, batch=1), Budget(max_expansions=1))
    (result,) = job.solve(tiles, [level])
    spelled = methods.get(name).spell(settings.Settings(**result.provenance.settings))
    assert variant.configuration(tiles) == spelled


def test_a_model_of_other_data_is_another_configuration_and_may_be_missing(models: Path) -> None:
    tiles = domains.create("sliding_tiles")
    best, other = PAPER.methods.get("hips_eps"), PAPER.methods.get("hips_eps_paper_data")
    assert best.model_name(tiles) == "sliding_tiles"
    assert other.missing(tiles) == "no model 'sliding_tiles-paper' is installed"
    install(models / "sliding_tiles-paper", files={"weights": "others"})
    assert other.missing(tiles) == ""
    assert other.configuration(tiles) == f"{best.configuration(tiles)} model=paper"
    assert other.model_hash(tiles) != best.model_hash(tiles)


def test_a_model_without_a_part_or_of_another_size_is_missing(models: Path) -> None:
    tiles, best = domains.create("sliding_tiles"), PAPER.methods.get("hips_eps")
    assert best.missing(tiles) == ""
    small = domains.create("sliding_tiles", height=4, width=4)
    assert best.missing(small) == "made for grids of 5×5, not 4×4"
    card = read_card(bundle.shipped_folder() / "sliding_tiles")
    kept = {name: part for name, part in card.parts.items() if name != "prior"}
    install(models / "sliding_tiles", parts=kept)
    assert best.missing(tiles) == "the model 'sliding_tiles' has no part 'prior'"


def test_more_instances_keep_the_first_ones() -> None:
    suite = PAPER.suites.get("sliding_tiles")
    few, many = suite.instances(2, 7), suite.instances(4, 7)
    assert [i.sha256 for i in few] == [i.sha256 for i in many[:2]]
    assert len({i.sha256 for i in (*many, *suite.instances(4, 8))}) == 8
    assert combined(["b", "a", "a"]) == combined(["a", "b"])


@pytest.mark.parametrize(
    ("suite", "text"),
    [
        ("sokoban", "; 0\n" + "\n".join(["#" * 10, "#@$ .    #", *["#        #"] * 7, "#" * 10])),
        ("sliding_tiles", "1 0 " + " ".join(str(i) for i in range(2, 25)) + "\n"),
    ],
)
def test_level_files_take_the_place_of_drawn_instances(
    suite: str, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "levels"
    file.write_text(text)
    found = PAPER.suites.get(suite).of_files((file,)).instances(10, 0)
    assert [(i.seed, i.index) for i in found] == [(0, 0)]


def test_a_bad_level_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "levels").write_text("####\n#@?#\n####\n")
    suite = PAPER.suites.get("sokoban").of_files((tmp_path / "levels",))
    with pytest.raises(LevelError, match="levels, line 2"):
        suite.instances(1, 0)


def test_restricting_keeps_what_was_asked_for() -> None:
    table: Experiment = PAPER.experiments.get("table1")
    found = table.restricted(("tsp",), ("hips",))
    assert [(p.suite.name, [r.name for r in p.rows]) for p in found.parts] == [("tsp", ["hips"])]


def catalogue_of(method: dict[str, Any]) -> dict[str, Any]:
    """A catalogue with one method and nothing to do."""
    return {"sizes": {}, "methods": {"m": method}, "suites": {}, "experiments": {}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "not a catalogue"),
        (catalogue_of({"speed": 3}), "Method 'm'"),
        (catalogue_of({"method": "magic"}), "Unknown method 'magic'. Available: hips_eps"),
        (catalogue_of({"method": "lama", "settings": {"epsilon": 0.5}}), "'m'.*sets 'epsilon'"),
        (catalogue_of({"method": "hips", "settings": {"speed": 3}}), "Method 'm'.*'speed'"),
        (
            catalogue_of({"method": "hips", "settings": {"evaluation": "magic"}}),
            "Unknown evaluation 'magic'",
        ),
        ({"sizes": {}, "methods": {}, "suites": {"s": {"size": 3}}}, "Suite 's'"),
        (
            {
                "sizes": {},
                "methods": {},
                "suites": {"s": {"domain": "tsp"}},
                "experiments": {"e": {"title": "", "parts": [{"suite": "t", "rows": []}]}},
            },
            "Unknown suite 't'",
        ),
    ],
)
def test_a_bad_catalogue_is_explained(content: object, message: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(HipsError, match=message):
        experiments.load(tmp_path / "c.json")


def test_unknown_names_list_what_exists(catalogue: Catalogue) -> None:
    with pytest.raises(UnknownNameError, match="Available: everything, three, clock"):
        catalogue.experiments.get("table1")
    with pytest.raises(ConfigError):
        Suite.from_json("s", {})
