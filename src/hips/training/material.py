"""What a training learns from: demonstrations that were given, or that it collects first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from hips import data
from hips.data.dataset import Demonstrations
from hips.data.storage import MANIFEST
from hips.domains.base import Domain
from hips.engines import LocalEngine
from hips.errors import DatasetError
from hips.training.config import TrainingConfig

FEWEST = 10
"""Fewer demonstrations teach nothing."""
FIRST = 512
"""Demonstrations that are collected whatever the time limit."""
COLLECTING = 0.2
"""Share of the time given that collecting may take."""


def collect_material(
    domain: Domain,
    config: TrainingConfig,
    folder: Path,
    limit: float | None,
    workers: int,
    message: Callable[[str], None],
) -> None:
    """Collects the configured demonstrations, or as many as fit into a share of `limit` seconds.

    A collection that an earlier run finished stays as it is: stages may have learned from it.
    """
    if (folder / MANIFEST).exists():
        return
    wanted = config.demonstrations
    message(f"collecting {wanted:,} demonstrations")
    collect = partial(
        data.collect,
        domain,
        seed=config.seed,
        out=folder,
        quality=config.quality,
        engine=LocalEngine(workers),
        longest=config.longest,
    )
    count, began = wanted if limit is None else min(wanted, FIRST), time.monotonic()
    collect(count=count)
    while count < wanted and limit is not None:
        spent = time.monotonic() - began
        following = min(wanted, 2 * count)
        if spent * following / count > COLLECTING * limit:
            message(f"{count:,} demonstrations, because more do not fit into the minutes given")
            return
        count = following
        collect(count=count)


def load_material(folders: Sequence[Path], domain: Domain) -> Demonstrations:
    """The demonstrations in some folders.

    Raises:
        DatasetError: they are of another domain, too few, or leave none to validate with.
    """
    parts = [data.load(folder) for folder in folders]
    for folder, part in zip(folders, parts, strict=True):
        if part.domain.name != domain.name:
            raise DatasetError(
                f"{folder} holds demonstrations of '{part.domain.name}', not '{domain.name}'."
            )
    whole = data.concatenate(parts)
    count = len(whole)
    if count < FEWEST:
        raise DatasetError(
            f"{count} demonstrations are too few to train on; at least {FEWEST} are needed. "
            "Collect more with `hips collect`."
        )
    if not whole.validation.any():
        raise DatasetError(
            f"All {count} demonstrations are of one level, so none can be held out to validate "
            "the training. Add demonstrations of other levels."
        )
    return whole
