"""Recipes: JSON files that say how a model is made."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hips import data, domains
from hips.domains.base import Domain
from hips.engines import Engine
from hips.errors import ConfigError
from hips.files import read_json
from hips.planner.settings import Settings
from hips.training.config import TrainingConfig, build, default_config, override
from hips.training.contract import Part
from hips.training.schedule import SIZES, Size
from hips.training.survey import Survey

FORMAT = 2
"""Version of the format; a recipe of another version is refused."""


@dataclass(frozen=True, slots=True)
class DataSource:
    """Demonstrations to collect.

    Attributes:
        count: number of demonstrations.
        quality: of the expert, from 0 (wandering) to 1 (near-optimal).
        seed: of levels and expert.
        parameters: domain parameters that differ from the recipe's; the grids keep their size.
    """

    count: int
    quality: float = 1.0
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.count < 1 or self.seed < 0:
            raise ConfigError(
                f"{self.count} demonstrations of the seed {self.seed} cannot be collected; give "
                "at least 1, and a seed of 0 or more."
            )
        if not 0.0 <= self.quality <= 1.0:
            raise ConfigError(f"A quality of {self.quality} is not in [0, 1].")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is made, from nothing.

    Attributes:
        domain: name of the domain.
        about: a description.
        parameters: domain parameters that differ from the defaults.
        size: how much to train.
        seed: of all random draws.
        parts: the parts to train; none for the default ones.
        data: demonstrations to collect; none for `demonstrations` of quality `quality`.
        training: training settings by dotted name that differ from the defaults.
        rounds: rounds of practice after the first training; none for no rounds.
        settings: recommended search settings, for the card.
        tuned: on which development instances these settings were chosen.
    """

    domain: str
    about: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    size: Size = "laptop"
    seed: int = 0
    parts: tuple[str, ...] = ()
    data: tuple[DataSource, ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)
    rounds: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    tuned: str = ""

    def to_json(self) -> dict[str, Any]:
        """The recipe as stored in a file or a card."""
        return {"format": FORMAT, **asdict(self)}


def read_recipe(path: Path) -> Recipe:
    """The recipe in a file.

    Raises:
        ConfigError: it is no recipe, or one of another version.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format", "none") if isinstance(content, dict) else "none"
        raise ConfigError(
            f"{path}: not a recipe of this version (its format is {found}, this version reads "
            f"{FORMAT}). The recipes in reproductions/ are examples."
        )
    own = {key: value for key, value in content.items() if key != "format"}
    try:
        sources = [build(DataSource, one, "its data") for one in _listed(own.pop("data", ()))]
        recipe: Recipe = build(Recipe, {**own, "data": sources}, "the recipe")
        Settings(**recipe.settings)
    except TypeError as error:
        raise ConfigError(f"{path}: not a recipe of this version ({error}).") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: not a recipe of this version. {error}") from None
    if recipe.size not in SIZES:
        raise ConfigError(f"{path}: unknown size '{recipe.size}'. Available: {', '.join(SIZES)}.")
    return recipe


def _listed(found: Any) -> Sequence[Any]:
    if not isinstance(found, list | tuple):
        raise ConfigError(f"There is {found!r} instead of a list of data.")
    return found


def folders_of(recipe: Recipe, out: Path) -> list[Path]:
    """Where the demonstrations of a recipe are, once they are collected."""
    return [out / f"data-{index}" for index in range(len(recipe.data))]


def gather(recipe: Recipe, domain: Domain, out: Path, engine: Engine) -> None:
    """Collects the demonstrations of a recipe, or what an earlier run has not.

    Raises:
        ConfigError: parameters of some data change the size of the grids.
    """
    own = [
        domains.create(domain.name, **{**domain.parameters(), **source.parameters})
        for source in recipe.data
    ]
    for one, source in zip(own, recipe.data, strict=True):
        if one.spec != domain.spec:
            raise ConfigError(
                f"The data of {dict(source.parameters)} have grids {one.spec.shape}, not "
                f"{domain.spec.shape}; use parameters that keep the size."
            )
    for one, source, folder in zip(own, recipe.data, folders_of(recipe, out), strict=True):
        data.collect(one, source.count, source.seed, folder, source.quality, engine)


def configure(
    domain: Domain,
    parts: Mapping[str, Part],
    names: Sequence[str],
    size: Size,
    seed: int,
    recipe: Recipe | None = None,
    overrides: Sequence[str] = (),
    present: Collection[str] = (),
    survey: Survey | None = None,
) -> TrainingConfig:
    """The configuration of a training run: defaults, then the recipe, then overrides.

    With a survey of the domain, the defaults suit it. Without `names`, the parts are the default
    ones and those the segmentation needs; otherwise they are those named and their companions,
    except those `present` in the warm start.
    """
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise ConfigError(f"Unknown part '{unknown[0]}'. Available: {', '.join(parts)}.")
    if recipe is not None and recipe.domain != domain.name:
        raise ConfigError(f"The recipe is for '{recipe.domain}', not for '{domain.name}'.")
    full = default_config(domain, parts, size, seed, survey)
    if recipe is not None:
        full = override(full, [f"{key}={_text(value)}" for key, value in recipe.training.items()])
    full = override(full, overrides)
    chosen = with_companions(parts, names, present) or _default_parts(parts, full)
    return replace(full, parts={n: one for n, one in full.parts.items() if n in chosen})


def with_companions(
    parts: Mapping[str, Part], names: Iterable[str], present: Collection[str] = ()
) -> set[str]:
    """The named parts, and all that methods need beside them and that are not `present`."""
    chosen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        chosen.add(name)
        waiting += [
            one for one in parts[name].companions if one not in chosen and one not in present
        ]
    return chosen


def _default_parts(parts: Mapping[str, Part], config: TrainingConfig) -> set[str]:
    offered = {name: part.segmenters() for name, part in parts.items()}
    method = config.segmentation.method
    needed = {
        stage.split(".")[0]
        for segmenters in offered.values()
        if method in segmenters
        for stage in segmenters[method].stages
    }
    return needed | {name for name, part in parts.items() if part.default}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
