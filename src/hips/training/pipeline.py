"""The stages of a run in order; what is finished is loaded, what was cut off goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hips.demonstrations.dataset import Demonstrations
from hips.demonstrations.labels import StateLabels
from hips.errors import ConfigError, DatasetError
from hips.files import read_json, replacing, write_json
from hips.models.networks.assembly import Networks
from hips.models.networks.heads import ReachPolicy
from hips.models.segments import best_segmentation, event_following
from hips.seeding import stream
from hips.training import config as configuration
from hips.training.config import TrainingConfig
from hips.training.corpus import Corpus, Indices
from hips.training.dynamics import DynamicsStage
from hips.training.heuristic import HeuristicStage
from hips.training.loop import Stage, StageReport, StageRun
from hips.training.networks import build_networks
from hips.training.policy import ChunkStage, PolicyStage
from hips.training.prior import PriorStage
from hips.training.progress import Reporter
from hips.training.proposed import ProposedPairs
from hips.training.segmentation import (
    DetectorStage,
    detector_following,
    pair_log_pi,
    select_trajectories,
)
from hips.training.subgoals import AutoencoderStage, SubgoalPairs, VqvaeStage
from hips.training.world import World

MIN_TRAINING = 10
MAX_VALIDATION = 500
STAGES = (
    "policy",
    "detector",
    "autoencoder",
    "vqvae",
    "prior",
    "heuristic",
    "dynamics",
    "chunks",
)
"""In this order: exact segmentation asks the policy as the demonstrators taught it."""


@dataclass(frozen=True, slots=True)
class TrainedRun:
    """Networks with their final weights, and a report of every stage that is finished.

    `rank` is this process among those that trained together; 0 writes files. `before` is what the
    card of the model that the training started from says of its stages.
    """

    config: TrainingConfig
    networks: Networks
    reports: dict[str, StageReport]
    rank: int = 0
    before: Mapping[str, Any] = field(default_factory=dict)


class Pipeline:
    """Trains the networks of one configuration in one run folder."""

    def __init__(
        self,
        config: TrainingConfig,
        demonstrations: Demonstrations,
        folder: Path,
        world: World,
        reporter: Reporter,
        labels: StateLabels | None = None,
    ) -> None:
        domain = demonstrations.domain
        if config.events < 1:
            raise ConfigError("events must be at least 1: the next event is the nearest subgoal.")
        if domain.name != config.domain:
            raise DatasetError(
                f"The demonstrations are of '{domain.name}', the training is of '{config.domain}'."
            )
        self.config, self.folder, self.world, self.reporter = config, folder, world, reporter
        self.train = Corpus.build(demonstrations.trajectories("train"), domain, MIN_TRAINING)
        self.valid = Corpus.build(demonstrations.trajectories("validation"), domain)
        self.networks = build_networks(domain.spec, config)
        self._pairs: tuple[SubgoalPairs, SubgoalPairs] | None = None
        self._builders: dict[str, Callable[[], Stage]] = {
            "policy": lambda: PolicyStage(config.policy, *self._policy_material()),
            "detector": self._detector,
            "chunks": self._chunks,
            "autoencoder": lambda: AutoencoderStage(
                config.autoencoder, self.networks.subgoals, *self.pairs()
            ),
            "vqvae": lambda: VqvaeStage(config.vqvae, self.networks.subgoals, *self.pairs()),
            "prior": lambda: PriorStage(
                config.prior, self.networks.prior, self.networks.subgoals, *self.pairs()
            ),
            "heuristic": lambda: HeuristicStage(
                config.heuristic,
                self.networks.heuristic,
                self.networks.prior,
                self.train,
                self.valid,
                labels,
            ),
            "dynamics": lambda: DynamicsStage(
                config.dynamics, self.networks.dynamics, self.train, self.valid
            ),
        }

    def run(self, stages: Sequence[str] = STAGES) -> TrainedRun:
        """Runs the chosen stages; stages before them must be finished or chosen too."""
        reports: dict[str, StageReport] = {}
        for name in STAGES:
            finished = (self.folder / name / "done.json").exists()
            if not finished and name not in stages:
                continue
            stage = self._builders[name]()
            fresh = self.config.start is None or stage.config.anew
            run = StageRun(stage, self.folder, self.config.seed, self.reporter, self.world, fresh)
            reports[name] = run.run()
        return TrainedRun(self.config, self.networks, reports, self.world.rank)

    def _policy_material(self) -> tuple[ReachPolicy, Corpus, Corpus, int]:
        return self.networks.policy, self.train, self.valid, self.config.horizon

    def _chunks(self) -> Stage:
        proposed = ProposedPairs(self.networks, self.train, self.world.device)
        return ChunkStage(self.config.chunks, *self._policy_material(), proposed)

    def _detector(self) -> Stage:
        networks = self.networks
        return DetectorStage(
            self.config.detector, networks.detector, networks.policy, self.train, self.valid
        )

    def pairs(self) -> tuple[SubgoalPairs, SubgoalPairs]:
        """States and their next subgoals, by the chosen segmentation, kept in the run folder."""
        if self._pairs is None:
            exact = self.config.segmentation == "dp"
            train = self._some(self.train, self.config.segmented) if exact else self.train
            valid = self._some(self.valid, MAX_VALIDATION)
            self._pairs = (
                SubgoalPairs(train, self._following("train", train)),
                SubgoalPairs(valid, self._following("validation", valid)),
            )
        return self._pairs

    def _some(self, corpus: Corpus, most: int) -> Corpus:
        """At most so many trajectories of a corpus, chosen at random."""
        total = len(corpus.offsets) - 1
        if total <= most:
            return corpus
        rng = stream(self.config.seed, "segmented")
        return select_trajectories(corpus, np.sort(rng.choice(total, size=most, replace=False)))

    def _following(self, split: str, corpus: Corpus) -> Indices:
        path = self.folder / f"segmentation-{self.config.segmentation}-{split}.npz"
        if not path.exists():
            self.reporter.message(f"segmenting the {split} split ({self.config.segmentation})")
            following = self._segment(corpus)
            if self.world.rank == 0:
                with replacing(path) as temporary:
                    np.savez(temporary, following=following)
            self.world.barrier()
        with np.load(path, allow_pickle=False) as content:
            kept: Indices = content["following"]
        if len(kept) != len(corpus.states):
            raise DatasetError(
                f"{path} belongs to other demonstrations; remove it or choose another --out."
            )
        return kept

    def _segment(self, corpus: Corpus) -> Indices:
        self.networks.eval()
        if self.config.segmentation == "detector":
            return detector_following(self.networks.detector, corpus)
        if self.config.segmentation == "events":
            horizon, ahead = self.config.horizon, self.config.events
            return event_following(corpus.domain, corpus.states, corpus.offsets, horizon, ahead)
        log_pi = pair_log_pi(
            self.networks.policy,
            corpus.states,
            corpus.actions,
            corpus.offsets,
            self.config.horizon,
        )
        following, _ = best_segmentation(
            log_pi, corpus.offsets, self.config.detector.segment_penalty
        )
        return following


def open_run(folder: Path, config: TrainingConfig, resume: bool) -> None:
    """Makes the run folder, or checks that it holds a run of the same configuration."""
    path = folder / "config.json"
    content = configuration.to_json(config)
    if not path.exists():
        write_json(path, content)
        return
    if not resume:
        raise ConfigError(
            f"{folder} already holds a run; add --resume to go on, or choose another --out."
        )
    # Read and written again: settings that are newer than the run have their defaults.
    present = configuration.to_json(configuration.from_json(read_json(path)))
    different = sorted(name for name in content if content[name] != present.get(name))
    if different:
        raise ConfigError(
            f"{folder} was started with another configuration ('{different[0]}' differs); "
            "choose another --out."
        )
