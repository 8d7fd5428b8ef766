from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pytest

from hips import domains, parts
from hips.engines import LocalEngine
from hips.errors import ConfigError
from hips.planner.settings import Settings
from hips.training.config import (
    TrainingConfig,
    build,
    default_config,
    from_json,
    override,
    to_json,
)
from hips.training.recipes import DataSource, Recipe, configure, gather, read_recipe
from hips.training.schedule import PAPER_FACTOR, Schedule, Size
from tests.training.conftest import SHIPPED

PARTS = parts.known(SHIPPED)
RECIPES = Path(__file__).parents[2] / "reproductions"
DOMAINS = ("box_world", "sliding_tiles", "sokoban", "tsp")


def laptop() -> TrainingConfig:
    return default_config(domains.create("sliding_tiles"), PARTS)


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("size", get_args(Size))
def test_every_size_of_every_domain_survives_json(name: str, size: Size) -> None:
    config = default_config(domains.create(name), PARTS, size)
    assert from_json(json.loads(json.dumps(to_json(config))), PARTS) == config


def test_paper_size_takes_the_papers_table() -> None:
    config = default_config(domains.create("tsp"), PARTS, "paper")
    subgoals = config.parts["subgoals"]
    assert (config.horizon, subgoals.num_codes, subgoals.code_dimension) == (50, 32, 64)
    assert (config.segmentation.penalty, subgoals.commitment) == (0.05, 0.0)
    assert config.parts["prior"].num_codes == 32
    assert config.parts["reach_policy"].chunk == 50
    assert (config.quality, config.segmentation.method) == (0.0, "detector")
    rates = {
        name: getattr(config.parts[part], stage).learning_rate
        for name, part, stage in (
            ("VQ-VAE", "subgoals", "discrete"),
            ("VQ-VAE without codes", "subgoals", "continuous"),
            ("dynamics", "dynamics", "training"),
            ("policy", "reach_policy", "imitation"),
            ("detector", "detector", "training"),
            ("heuristic", "heuristic", "training"),
        )
    }
    slow, fast = 2e-4, 1e-3
    assert list(rates.values()) == [slow, slow, slow, fast, fast, fast]
    assert config.parts["detector"].discount == 0.99


@pytest.mark.parametrize("name", DOMAINS)
def test_paper_size_trains_without_a_simulator(name: str) -> None:
    config = default_config(domains.create(name), PARTS, "paper")
    stages = {stage.name for part in PARTS.values() for stage in part.stages(config)}
    assert "reach_policy.chunking" not in stages
    assert "detector.training" in stages
    assert config.parts["dynamics"].wandering == 0.0


def test_box_worlds_demonstrations_are_capped_like_the_papers() -> None:
    domain = domains.create("box_world")
    assert default_config(domain, PARTS, "paper").longest == 75
    assert default_config(domain, PARTS).longest == 0


@pytest.mark.parametrize("name", DOMAINS)
def test_structure_is_the_same_at_every_size(name: str) -> None:
    """A try of seconds meets the same code paths as a long training; only its sizes differ."""
    domain = domains.create(name)
    numbers = ("channels", "blocks")
    structures = []
    for size in get_args(Size):
        config = default_config(domain, PARTS, size)
        segmentation = replace(config.segmentation, method="")
        found: dict[str, Any] = {"horizon": config.horizon, "segmentation": segmentation}
        for part, own in config.parts.items():
            found[f"{part}.trunk"] = replace(own.trunk, **{name: 4 for name in numbers})
        structures.append(found)
    assert structures[0] == structures[1] == structures[2]


def test_sizes_scale_a_schedule() -> None:
    usual = Schedule(steps=700, batch=100, validate_every=70)
    assert usual.sized("laptop") == usual
    assert usual.sized("paper") == replace(usual, steps=700 * PAPER_FACTOR)
    smoke = usual.sized("smoke")
    assert smoke.steps == smoke.validate_every < usual.steps
    assert smoke.batch < usual.batch
    assert Schedule(batch=8).sized("smoke").batch == 8


def test_overrides_keep_types() -> None:
    changed = override(
        laptop(),
        ["subgoals.num_codes=32", "reach_policy.imitation.learning_rate=2e-4",
         "subgoals.trunk.positions=false", "segmentation.method=exact", "horizon=7"],
    )  # fmt: skip
    assert changed.parts["subgoals"].num_codes == 32
    assert changed.parts["reach_policy"].imitation.learning_rate == 2e-4
    assert changed.parts["subgoals"].trunk.positions is False
    assert changed.parts["prior"].trunk.positions is True
    assert changed.segmentation.method == "exact"
    assert changed.horizon == 7


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("subgoals.num_codes", "form"),
        ("subgoals.numcodes=3", "num_codes"),
        ("subgoals=3", "name a single setting"),
        ("subgoals.trunk=3", "name a single setting"),
        ("subgoals.num_codes=many", "whole number"),
        ("subgoals.num_codes=1", "at least 2"),
        ("subgoals.trunk.positions=2", "true or false"),
        ("subgoals.trunk.channels=30", "multiple of 4"),
        ("subgoals.trunk.downsample=0", "1 or more"),
        ("reach_policy.chunk=0", "at least 1"),
        ("segmentation.ahead=0", "at least 1"),
        ("horizon=0", "at least 1"),
        ("size=huge", "smoke, laptop, paper"),
        ("nothing.at=1", "Available"),
        ("warm_start=somewhere", "option"),
        ('warm_start={"model": "sokoban", "sha256": "0"}', "option"),
        ("domain=sokoban", "option"),
    ],
)
def test_bad_overrides_say_what_is_allowed(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        override(laptop(), [assignment])


def test_settings_that_are_newer_than_a_file_have_their_defaults() -> None:
    config = override(laptop(), ["subgoals.num_codes=32"])
    content = to_json(config)
    del content["parts"]["subgoals"]["changes"], content["parts"]["prior"]["trunk"]["motion"]
    del content["warm_start"], content["segmentation"]["most"]
    assert from_json(content, PARTS) == config


def test_settings_and_parts_that_nobody_knows_are_named() -> None:
    content = to_json(laptop())
    content["parts"]["subgoals"]["wings"] = 2
    with pytest.raises(ConfigError, match="wings"):
        from_json(content, PARTS)
    with pytest.raises(ConfigError, match="part 'detector'"):
        from_json(to_json(laptop()), {"prior": PARTS["prior"]})


@dataclass(frozen=True)
class Inner:
    width: int = 3
    rate: float = 0.5
    wide: bool = False


@dataclass(frozen=True)
class Outer:
    inner: Inner
    name: str = "x"


def test_dataclasses_within_dataclasses_are_built() -> None:
    assert build(Outer, {"inner": {"width": 5, "rate": 1}}) == Outer(Inner(5, 1.0))


@pytest.mark.parametrize(
    "content",
    [
        {"inner": 3},
        {"inner": []},
        {"inner": {"width": "5"}},
        {"inner": {"width": 5.5}},
        {"inner": {"width": True}},
        {"inner": {"rate": "0.5"}},
        {"inner": {"rate": None}},
        {"inner": {"wide": 1}},
        {"inner": {}, "name": 3},
    ],
)
def test_odd_values_in_a_saved_configuration_are_named(content: Any) -> None:
    with pytest.raises(ConfigError, match="saved configuration"):
        build(Outer, content)


@pytest.mark.parametrize("path", sorted(RECIPES.rglob("*.json")), ids=lambda path: path.stem)
def test_every_committed_recipe_is_a_configuration(path: Path) -> None:
    recipe = read_recipe(path)
    config = configure(domains.create(recipe.domain), parts.known(), (), "laptop", 0, recipe)
    assert config.domain == recipe.domain
    Settings(**recipe.settings)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"training": []}, "'training' has the invalid value"),
        ({"parts": "prior"}, "'parts' has the invalid value 'prior'"),
        ({"seed": "1"}, "'seed' has the invalid value '1'"),
        ({"rounds": 3}, "'rounds' has the invalid value 3"),
        ({"colour": 1}, "Unknown setting 'colour' in the recipe"),
        ({"data": 3}, "3 instead of a list"),
        ({"data": [{"quality": 0.5}]}, "missing in its data"),
        ({"data": [{"count": 0}]}, "at least 1"),
        ({"data": [{"count": 5, "quality": 2}]}, "not in"),
        ({"data": [{"count": 5, "number": 2}]}, "Unknown setting 'number'"),
        ({"settings": {"top_q": 1.0}}, "top_q"),
        ({"settings": {"top_p": 7.0}}, "top_p"),
        ({"size": "huge"}, "huge"),
        ({"format": 1}, "its format is 1, this version reads 2"),
    ],
)
def test_what_is_wrong_with_a_recipe_shows_before_it_is_followed(
    tmp_path: Path, content: dict[str, Any], message: str
) -> None:
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps({"format": 2, "domain": "sokoban", **content}))
    with pytest.raises(ConfigError, match=message) as caught:
        read_recipe(path)
    assert str(path) in str(caught.value)


def test_data_of_another_size_are_refused_before_any_are_collected(tmp_path: Path) -> None:
    sources = (DataSource(2), DataSource(2, parameters={"height": 3}))
    recipe = Recipe("sliding_tiles", data=sources)
    with pytest.raises(ConfigError, match="keep the size"):
        gather(recipe, domains.create("sliding_tiles"), tmp_path, LocalEngine())
    assert not list(tmp_path.iterdir())
