"""A model made of the parts of two: to find out which part is to blame."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from hips.errors import ModelError
from hips.files import sha256
from hips.models import bundle
from hips.models.card import PartEntry, write_card


def combine(base: str | Path, donor: str | Path, exchanged: Collection[str], out: Path) -> Path:
    """Writes the model `base` with the parts `exchanged` of `donor` to the folder `out`.

    It has graphs only, no weights: it solves, and cannot be trained further. Settings and horizon
    are those of `base`.

    Raises:
        ModelError: a model is missing or damaged, they are for different domains, or one of them
            lacks an exchanged part.
    """
    ours = bundle.load(base)
    theirs = bundle.load(donor, ours.domain)
    for part in exchanged:
        for model in (ours, theirs):
            if part not in model.card.parts:
                raise ModelError(f"{model.folder}: the model has no part '{part}' to exchange.")
    out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, PartEntry] = {}
    files: dict[str, str] = {}
    for name in ours.card.parts:
        source = theirs if name in exchanged else ours
        entry = source.card.parts[name]
        graphs = {
            graph: {kind: f"{name}-{file}" for kind, file in copies.items()}
            for graph, copies in entry.graphs.items()
        }
        for copies in entry.graphs.values():
            for file in copies.values():
                target = out / f"{name}-{file}"
                shutil.copyfile(source.folder / file, target)
                files[target.name] = sha256(target)
        parts[name] = replace(entry, graphs=graphs, weights="")
    facts = {"combined": {"base": ours.card.fingerprint(), "donor": theirs.card.fingerprint()}}
    write_card(out, replace(ours.card, parts=parts, files=files, facts=facts))
    return out
