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
from hips.training.config import TrainingConfig, default_config, override
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
        sources = tuple(DataSource(**source) for source in own.pop("data", ()))
        recipe = Recipe(**{**own, "data": sources, "parts": tuple(own.get("parts", ()))})
    except TypeError as error:
        raise ConfigError(f"{path}: not a recipe of this version ({error}).") from None
    if recipe.size not in SIZES:
        raise ConfigError(f"{path}: unknown size '{recipe.size}'. Available: {', '.join(SIZES)}.")
    return recipe


def gather(recipe: Recipe, domain: Domain, out: Path, engine: Engine) -> list[Path]:
    """Collects the demonstrations of a recipe, or what an earlier run has not; their folders."""
    folders = []
    for index, source in enumerate(recipe.data):
        own = domains.create(domain.name, **{**domain.parameters(), **source.parameters})
        folder = out / f"data-{index}"
        data.collect(own, source.count, source.seed, folder, source.quality, engine)
        folders.append(folder)
    return folders


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
