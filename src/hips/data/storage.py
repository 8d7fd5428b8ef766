"""Datasets on disk: a folder of shards and a `manifest.json`, written last.

The manifest records what the data is (format, domain, seed, quality), how much (counts, lengths)
and its bytes (SHA-256 of every shard).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hips import domains
from hips._version import __version__
from hips.data.dataset import (
    VALIDATION_FRACTION,
    ActionCodes,
    Demonstrations,
    Offsets,
    encode_actions,
    first_goals,
    to_offsets,
    validation_split,
)
from hips.data.shards import SHARD_SIZE, Shard, read_shard, shard_name, write_shard
from hips.domains.base import Domain
from hips.errors import DatasetError, HipsError
from hips.files import read_json, sha256, write_json

FORMAT = "hips-demonstrations"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
PERCENTILES = (5, 25, 50, 75, 95)


def save(demonstrations: Demonstrations, path: Path) -> Demonstrations:
    """Writes a dataset to a new or empty folder; returns it with its manifest.

    Raises:
        DatasetError: the folder already holds a dataset, or a plan misses the goal. Then nothing
            is written.
    """
    demonstrations = _checked(demonstrations)
    if (path / MANIFEST).exists() or any(path.glob("shard-*.npz")):
        raise DatasetError(f"{path}: already holds a dataset; choose another folder.")
    origin: dict[str, Any] = {
        key: demonstrations.manifest[key]
        for key in ("seed", "quality", "source")
        if key in demonstrations.manifest
    }
    for index, first in enumerate(range(0, len(demonstrations), SHARD_SIZE)):
        last = min(first + SHARD_SIZE, len(demonstrations))
        part = demonstrations.select(np.arange(first, last))
        shard = Shard(part.starts, part.actions, part.offsets, {"index": index})
        write_shard(path / shard_name(index), shard)
    return write_manifest(demonstrations.domain, path, origin)


def _checked(demonstrations: Demonstrations) -> Demonstrations:
    """The demonstrations as stored, after a replay of every plan."""
    domain, actions = demonstrations.domain, demonstrations.actions
    if len(actions) and not 0 <= int(actions.min()) <= int(actions.max()) < domain.spec.num_actions:
        allowed = f"0 to {domain.spec.num_actions - 1}"
        raise DatasetError(f"a plan for '{domain.name}' has an unknown action; allowed: {allowed}.")
    codes = encode_actions(actions, domain.spec.num_actions)
    ends = first_goals(domain, demonstrations.starts, codes, demonstrations.offsets)
    missed = np.flatnonzero(ends != demonstrations.lengths)
    if len(missed):
        raise DatasetError(
            f"plan {missed[0]} does not end in the first goal it reaches ({len(missed)} of "
            f"{len(ends)} do not); `Demonstrations.from_plans` checks and cuts plans."
        )
    return replace(demonstrations, actions=codes)


def write_manifest(domain: Domain, path: Path, origin: dict[str, Any]) -> Demonstrations:
    """Writes the manifest of the shards in a folder; returns the dataset.

    Args:
        domain: the domain of the shards.
        path: the folder.
        origin: further entries of the manifest (seed, quality, source, dropped levels).
    """
    files = sorted(path.glob("shard-*.npz"))
    shards = [read_shard(file, domain.spec) for file in files]
    starts, actions, offsets = join_shards(shards)
    validation = validation_split(starts)
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "hips_version": __version__,
        "domain": {"name": domain.name, "parameters": domain.parameters()},
        "shape": list(domain.spec.shape),
        "actions": list(domain.spec.actions),
        **origin,
        "counts": {
            "demonstrations": len(starts),
            "train": int((~validation).sum()),
            "validation": int(validation.sum()),
            "steps": len(actions),
        },
        "validation_fraction": VALIDATION_FRACTION,
        "lengths": length_statistics(np.diff(offsets)),
        "shards": [
            {"file": file.name, "demonstrations": len(shard.starts), "sha256": sha256(file)}
            for file, shard in zip(files, shards, strict=True)
        ],
    }
    write_json(path / MANIFEST, manifest)
    return Demonstrations(domain, starts, actions, offsets, validation, manifest)


def load(path: Path, domain: Domain | None = None) -> Demonstrations:
    """Reads a dataset after checking format, hashes and domain.

    Args:
        path: the dataset's folder.
        domain: the expected domain; None takes the manifest's.

    Raises:
        DatasetError: the dataset is missing, unfinished, damaged, or of another domain.
    """
    manifest = _read_manifest(path)
    if domain is None:
        domain = _described_domain(path, manifest["domain"])
    actions_map = _match_domain(path, manifest, domain)
    shards = []
    for entry in manifest["shards"]:
        file = path / entry["file"]
        if file.exists() and sha256(file) != entry["sha256"]:
            raise DatasetError(
                f"{file}: the shard is damaged or was changed (its SHA-256 differs from the "
                "manifest). Collect again with the same settings to restore it."
            )
        shards.append(read_shard(file, domain.spec))
    starts, actions, offsets = join_shards(shards)
    if len(starts) != (promised := manifest["counts"]["demonstrations"]):
        raise DatasetError(f"{path}: holds {len(starts)} demonstrations, not {promised}.")
    if len(actions) and actions.max() >= len(actions_map):
        raise DatasetError(f"{path}: uses an action that its manifest does not name.")
    actions = encode_actions(actions_map[actions], domain.spec.num_actions)
    return Demonstrations(domain, starts, actions, offsets, validation_split(starts), manifest)


def join_shards(
    shards: Sequence[Shard],
) -> tuple[domains.Grids, ActionCodes, Offsets]:
    """Joined start states, actions and offsets of several shards."""
    if not shards:
        raise DatasetError("the dataset is empty: it kept no demonstration.")
    starts = np.concatenate([shard.starts for shard in shards])
    actions = np.concatenate([shard.actions for shard in shards])
    lengths = np.concatenate([np.diff(shard.offsets) for shard in shards])
    return starts, actions, to_offsets(lengths)


def length_statistics(lengths: Offsets) -> dict[str, float]:
    """Mean, minimum, maximum and percentiles of plan lengths."""
    if not len(lengths):
        return {}
    statistics = {"mean": round(float(lengths.mean()), 3), "min": int(lengths.min())}
    for percentile in PERCENTILES:
        statistics[f"p{percentile}"] = round(float(np.percentile(lengths, percentile)), 3)
    return {**statistics, "max": int(lengths.max())}


def same_json(first: Any, second: Any) -> bool:
    """Whether two values are equal once written as JSON (a tuple equals a list)."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise DatasetError(f"{path}: no such dataset folder; make one with `hips collect`.")
    if not (path / MANIFEST).exists():
        if any(path.glob("shard-*.npz")):
            raise DatasetError(
                f"{path}: the collection was not finished; run the same `hips collect` to resume."
            )
        raise DatasetError(f"{path}: has no {MANIFEST}, so it is not a dataset.")
    try:
        manifest = read_json(path / MANIFEST)
        version = manifest["format_version"] if manifest["format"] == FORMAT else None
        complete = _is_complete(manifest)
    except (HipsError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DatasetError(f"{path / MANIFEST}: damaged ({error!r}).") from error
    if version != FORMAT_VERSION or not complete:
        raise DatasetError(
            f"{path / MANIFEST}: format version {version} is not {FORMAT_VERSION}, "
            "the one this release reads; collect again."
        )
    return dict(manifest)


def _is_complete(manifest: dict[str, Any]) -> bool:
    """Whether a manifest has every field that `load` uses; raises if one has the wrong form."""
    if not all(key in manifest for key in ("domain", "shape", "actions", "counts", "shards")):
        return False
    domain, actions = manifest["domain"], manifest["actions"]
    forms = [isinstance(domain["name"], str), isinstance(domain["parameters"], dict)]
    forms += [isinstance(int(manifest["counts"]["demonstrations"]), int)]
    forms += [len([int(side) for side in manifest["shape"]]) == 2]
    forms += [isinstance(actions, list) and all(isinstance(one, str) for one in actions)]
    for entry in manifest["shards"]:
        name = entry["file"]
        forms += [isinstance(entry["sha256"], str), Path(name).name == name != ".."]
        forms += [len(name) < 100]  # longer ones are an error of the file system, not of ours
    if not all(forms):
        raise TypeError("a field has the wrong form")
    return True


def _described_domain(path: Path, description: dict[str, Any]) -> Domain:
    try:
        return domains.create(description["name"], **description["parameters"])
    except (HipsError, TypeError, ValueError) as error:
        raise DatasetError(
            f"{path}: cannot create its domain ({error}) If it comes from a plug-in, load that."
        ) from error


def _match_domain(path: Path, manifest: dict[str, Any], domain: Domain) -> Offsets:
    """Maps stored actions to the domain's by name, `[actions]`; rejects other domains."""
    name, shape = manifest["domain"]["name"], tuple(manifest["shape"])
    if name != domain.name or shape != domain.spec.shape:
        raise DatasetError(
            f"{path}: holds '{name}' of shape {shape}, not '{domain.name}' of {domain.spec.shape}."
        )
    unknown = [action for action in manifest["actions"] if action not in domain.spec.actions]
    if unknown:
        raise DatasetError(f"{path}: uses the action '{unknown[0]}', which '{name}' does not have.")
    return domain.spec.action_indices(manifest["actions"])
