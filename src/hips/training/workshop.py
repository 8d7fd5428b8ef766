"""Resources of the stages: networks, demonstrations, labels, pairs of states and subgoals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from hips.archives import stored_arrays
from hips.arrays import Actions, Grids, Ints
from hips.data.labels import StateLabels
from hips.domains.base import Domain
from hips.errors import DatasetError, ModelError
from hips.files import replacing
from hips.models.runtime import GraphRuntime
from hips.seeding import stream
from hips.training.config import TrainingConfig
from hips.training.contract import Part
from hips.training.corpus import Augmenter, Corpus, some_trajectories
from hips.training.process_group import ProcessGroup
from hips.training.segmenters import SegmentationTask, Segmenter, find_segmenter
from hips.training.torch_runtime import TorchRuntime

MAX_VALIDATION = 500
VALIDATION_SHARE = 0.1
"""Trajectories segmented for validation, per training trajectory, where segmenting is costly."""
Message = Callable[[str], None]


class SubgoalPairs:
    """Pairs (s, s_g) of every state and its next subgoal."""

    def __init__(self, corpus: Corpus, following: Ints) -> None:
        self.corpus, self.following = corpus, following
        self.augment = Augmenter.of(corpus)
        self.starts = corpus.decisions

    def draw(self, rng: np.random.Generator, size: int, augment: bool = True) -> dict[str, Tensor]:
        """A batch of states, subgoals and the actions taken in the states."""
        starts = rng.choice(self.starts, size=size)
        grids: list[Grids] = [
            self.corpus.states[starts],
            self.corpus.states[self.following[starts]],
        ]
        actions: Actions = self.corpus.actions[starts]
        if augment:
            grids, renamed = self.augment(rng, grids, actions)
            assert renamed is not None
            actions = renamed
        return {
            "states": torch.from_numpy(grids[0]),
            "subgoals": torch.from_numpy(grids[1]),
            "actions": torch.from_numpy(actions),
        }


@dataclass(slots=True)
class Workshop:
    """Everything that stages are built from.

    Attributes:
        domain: to train for.
        config: the configuration of the run.
        parts: parts that are trained or used in training, by name.
        networks: the network of each part.
        train: training demonstrations.
        valid: validation demonstrations.
        labels: labelled states in addition to the demonstrations, or None.
        folder: the folder for segmentations.
        group: this process among those of the run.
        message: prints a message to the user.
        recorded: both splits as they were recorded, if loops were cut out of `train` and `valid`.
    """

    domain: Domain
    config: TrainingConfig
    parts: Mapping[str, Part]
    networks: Mapping[str, nn.Module]
    train: Corpus
    valid: Corpus
    labels: StateLabels | None
    folder: Path
    group: ProcessGroup
    message: Message
    recorded: tuple[Corpus, Corpus] | None = None
    _pairs: dict[str, tuple[SubgoalPairs, SubgoalPairs]] = field(default_factory=dict)

    @property
    def visited(self) -> tuple[Corpus, Corpus]:
        """Both splits with every state that a demonstrator visited."""
        return self.recorded or (self.train, self.valid)

    def network(self, part: str) -> nn.Module:
        """The network of a part, trained or only used in this run."""
        if part not in self.networks:
            raise ModelError(
                f"This training needs the part '{part}', which is missing. Train it too, or "
                "warm-start from a model that has it."
            )
        return self.networks[part]

    def runtime(self, *names: str, precision: torch.dtype = torch.float32) -> GraphRuntime:
        """The networks of some parts, with their current weights, as functions of arrays."""
        networks = {name: self.network(name) for name in names}
        for network in networks.values():
            network.eval()
        return TorchRuntime(self.parts, networks, self.group.device, precision)

    def pairs(
        self, method: str = "", segmenter: Segmenter | None = None
    ) -> tuple[SubgoalPairs, SubgoalPairs]:
        """Training and validation pairs of states and next subgoals; cached in the run folder.

        Args:
            method: name of the segmentation; by default the configured one.
            segmenter: of that name, if it cannot be configured.
        """
        method = method or self.config.segmentation.method
        if method not in self._pairs:
            chosen = segmenter or find_segmenter(method, self.parts.values())
            train, most = self.train, MAX_VALIDATION
            if chosen.costly:
                train = self._some(train, self.config.segmentation.most)
                most = min(most, math.ceil(VALIDATION_SHARE * (len(train.offsets) - 1)))
            valid = self._some(self.valid, most)
            self._pairs[method] = (
                SubgoalPairs(train, self._following(method, chosen, "train", train)),
                SubgoalPairs(valid, self._following(method, chosen, "validation", valid)),
            )
        return self._pairs[method]

    def _some(self, corpus: Corpus, most: int) -> Corpus:
        """The trajectories to segment, at most `most`."""
        return some_trajectories(corpus, most, stream(self.config.seed, "segmented"))

    def _following(self, method: str, segmenter: Segmenter, split: str, corpus: Corpus) -> Ints:
        path = self.folder / f"segmentation-{method}-{split}.npz"
        if not path.exists():
            self.message(f"segmenting the {split} split ({method})")
            following = self._segment(segmenter, corpus)
            if self.group.rank == 0:
                with replacing(path) as temporary:
                    np.savez(temporary, following=following)
            self.group.barrier()
        with stored_arrays(path) as content:
            kept: Ints = content["following"]
        if len(kept) != len(corpus.states):
            raise DatasetError(
                f"{path} belongs to other demonstrations; remove it or choose another --out."
            )
        return kept

    def _segment(self, segmenter: Segmenter, corpus: Corpus) -> Ints:
        readable = {stage.split(".")[0] for stage in segmenter.stages}
        data = corpus.trajectories
        task = SegmentationTask(
            self.domain,
            data,
            self.config.horizon,
            self.config.segmentation,
            self.runtime(*sorted(readable), precision=self.group.precision),
        )
        return segmenter.following(task)
