"""Import and export of Minari datasets (offline, in Minari's local folder)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from hips.arrays import Actions, Grid
from hips.data.dataset import (
    Demonstrations,
    cut_at_goal,
    encode_actions,
    to_offsets,
    validation_split,
)
from hips.domains.base import Domain
from hips.errors import ContractError, DatasetError, MissingExtraError

METADATA_KEY = "hips_domain"


def export_minari(demonstrations: Demonstrations, dataset_id: str) -> None:
    """Writes demonstrations as a local Minari dataset such as `sokoban/expert-v0`.

    Observations are the grids `[T + 1, H, W]`; the reward is 1 on reaching the goal, else 0.
    """
    minari = _import_minari()
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer

    domain = demonstrations.domain
    spec = domain.spec
    trajectories = demonstrations.replay()
    buffers = []
    for i, length in enumerate(demonstrations.lengths.tolist()):
        first, last = trajectories.offsets[i : i + 2]
        at_goal = np.arange(1, length + 1) == length
        buffers.append(
            EpisodeBuffer(
                id=i,
                observations=list(trajectories.states[first:last]),
                actions=list(trajectories.actions[first : last - 1]),
                rewards=at_goal.astype(np.float64).tolist(),
                terminations=at_goal.tolist(),
                truncations=[False] * length,
            )
        )
    try:
        with warnings.catch_warnings():
            # Minari warns about each missing optional field (author, e-mail, link).
            warnings.simplefilter("ignore", UserWarning)
            dataset = minari.create_dataset_from_buffers(
                dataset_id,
                buffers,
                observation_space=spaces.Box(0, spec.num_symbols - 1, spec.shape, np.uint8),
                action_space=spaces.Discrete(spec.num_actions),
                algorithm_name="hips expert",
                description=f"Plans that reach the goal in {domain.name}",
                jpeg_encoding=False,
            )
    except (ValueError, AssertionError) as error:
        raise DatasetError(f"Minari rejected the dataset '{dataset_id}': {error}") from error
    description = {
        "name": domain.name,
        "parameters": domain.parameters(),
        "actions": list(spec.actions),
    }
    dataset.storage.update_metadata({METADATA_KEY: json.dumps(description)})


def import_minari(dataset_id: str, domain: Domain) -> Demonstrations:
    """Reads a local Minari dataset whose observations are grids of `domain`.

    Replays every episode; those that do not reach a goal are dropped and counted in the manifest.

    Raises:
        DatasetError: the dataset is missing, or its observations or actions do not fit the domain.
    """
    minari = _import_minari()
    try:
        dataset = minari.load_dataset(dataset_id)
    except (FileNotFoundError, ValueError) as error:
        raise DatasetError(f"Minari has no local dataset '{dataset_id}' ({error}).") from error
    action_map = _action_map(dataset.storage.metadata.get(METADATA_KEY), domain, dataset_id)
    starts, plans, left_out = _read_episodes(dataset.iterate_episodes(), domain, action_map)
    if not plans:
        raise DatasetError(f"no episode of '{dataset_id}' reaches a goal of '{domain.name}'.")
    stacked = np.stack(starts)
    return Demonstrations(
        domain=domain,
        starts=stacked,
        actions=encode_actions(np.concatenate(plans), domain.spec.num_actions),
        offsets=to_offsets(np.array([len(plan) for plan in plans])),
        validation=validation_split(stacked),
        manifest={"source": {"minari": dataset_id, "episodes_left_out": left_out}},
    )


def _read_episodes(
    episodes: Iterable[Any], domain: Domain, action_map: Actions
) -> tuple[list[Grid], list[Actions], int]:
    starts: list[Grid] = []
    plans: list[Actions] = []
    left_out = 0
    for episode in episodes:
        start = np.asarray(episode.observations[0])
        if start.shape != domain.spec.shape or start.dtype != np.uint8:
            raise DatasetError(
                f"observations are {start.dtype} {start.shape}; '{domain.name}' needs "
                f"uint8 grids of shape {domain.spec.shape}."
            )
        if start.max() >= domain.spec.num_symbols:
            raise DatasetError(f"cells hold symbols beyond {domain.spec.num_symbols - 1}.")
        actions = np.asarray(episode.actions).astype(np.int64)
        if actions.ndim != 1 or not np.isin(actions, np.arange(len(action_map))).all():
            raise DatasetError(f"actions are not indices of {', '.join(domain.spec.actions)}.")
        try:
            plan = cut_at_goal(domain, [start], [action_map[actions]])[0]
        except ContractError:
            left_out += 1
            continue
        starts.append(start)
        plans.append(plan)
    return starts, plans, left_out


def _action_map(description: str | None, domain: Domain, dataset_id: str) -> Actions:
    """The domain's action for each action of the dataset, matched by name where possible."""
    if description is None:
        return np.arange(domain.spec.num_actions)
    described = json.loads(description)
    if described["name"] != domain.name:
        raise DatasetError(
            f"'{dataset_id}' holds '{described['name']}', not '{domain.name}' demonstrations."
        )
    return domain.spec.action_indices(described["actions"])


def _import_minari() -> Any:
    try:
        import h5py  # noqa: F401  (Minari's default storage needs it without declaring it)
        import minari
    except ImportError:
        raise MissingExtraError("Reading and writing Minari datasets", "minari") from None
    return minari
