"""Rows that exchange parts of one model for those of another, to find the part to blame."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hips import methods
from hips.benchmark.experiments import Experiment, Part, Swap
from hips.benchmark.variants import Variant
from hips.errors import ConfigError
from hips.models import bundle
from hips.models.combine import combine


def variants(swap: Swap, domain: str, folder: Path) -> tuple[Variant, ...]:
    """One variant for every choice of exchanged groups of parts, from none to all.

    Writes the combined models to `folder`.

    Raises:
        ModelError: a model is missing, or has none of the parts.
    """
    base, donor = (name.format(domain=domain) for name in (swap.base, swap.donor))
    groups = methods.get(swap.method).exchangeable
    if not groups:
        raise ConfigError(f"Method '{swap.method}' has no parts to exchange between models.")
    for name in (base, donor):
        bundle.require(name)
    names = [Path(name).name if Path(name).is_dir() else name for name in (base, donor)]
    found = []
    for chosen in _choices(groups):
        exchanged = [part for group in chosen for part in group]
        suffix = "+".join([names[0], *(f"{part}@{names[1]}" for part in exchanged)])
        model = combine(base, donor, exchanged, folder / suffix)
        with_parts = " + ".join(exchanged)
        label = f"{names[0]}, {with_parts} of {names[1]}" if exchanged else names[0]
        found.append(Variant(suffix, label, swap.method, {}, swap.named, str(model), suffix))
    return tuple(found)


def fill(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment with its rows of combined models, which are written to `folder`."""
    swap = experiment.swap
    if swap is None:
        return experiment
    parts: list[Part] = []
    for part in experiment.parts:
        rows = variants(swap, part.suite.domain, folder)
        parts += replace(experiment, parts=(part,)).with_variants(rows).parts
    return replace(experiment, parts=tuple(parts))


def _choices(groups: tuple[tuple[str, ...], ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
    for count in range(len(groups) + 1):
        yield from itertools.combinations(groups, count)
