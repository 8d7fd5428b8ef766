"""Recipes: JSON files with a model's deviations from the training defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hips.domains.base import Domain
from hips.errors import ConfigError
from hips.files import read_json
from hips.training.config import TrainingConfig, default_config, override
from hips.training.contract import Part
from hips.training.schedule import Size


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is trained.

    Attributes:
        domain: name of the domain.
        about: a description.
        training: training settings by dotted name that differ from the defaults.
        settings: recommended search settings, for the card.
    """

    domain: str
    about: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_recipe(path: Path) -> Recipe:
    """The recipe in a file."""
    content = read_json(path)
    try:
        return Recipe(**content)
    except TypeError as error:
        raise ConfigError(f"{path}: not a recipe of this version ({error}).") from None


def configure(
    domain: Domain,
    parts: Mapping[str, Part],
    names: Sequence[str],
    size: Size,
    seed: int,
    recipe: Recipe | None = None,
    overrides: Sequence[str] = (),
) -> TrainingConfig:
    """The configuration of a training run: defaults, then the recipe, then overrides.

    Without `names`, the parts are the default ones and those the segmentation needs.
    """
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise ConfigError(f"Unknown part '{unknown[0]}'. Available: {', '.join(parts)}.")
    if recipe is not None and recipe.domain != domain.name:
        raise ConfigError(f"The recipe is for '{recipe.domain}', not for '{domain.name}'.")
    full = default_config(domain, parts, size, seed)
    if recipe is not None:
        full = override(full, [f"{key}={_text(value)}" for key, value in recipe.training.items()])
    full = override(full, overrides)
    chosen = set(names) or _default_parts(parts, full)
    return replace(full, parts={n: one for n, one in full.parts.items() if n in chosen})


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
