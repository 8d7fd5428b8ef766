"""The sizes of all networks as plain data: what a configuration says of them, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from hips.errors import ModelError

REVIVED = 0.1
"""A code is revived when it is used less than this share of the mean use."""

SHAPED: Mapping[str, tuple[str, ...]] = {
    "network.same_symbols": ("subgoals", "prior", "heuristic"),
    "network.policy_": ("policy",),
    "network.detector_": ("detector",),
    "network.encoder_": ("subgoals",),
    "network.head_": ("subgoals",),
    "network.subgoal_": ("subgoals",),
    "network.changes": ("subgoals",),
    "network.scaled_codes": ("subgoals",),
    "network.dynamics_": ("dynamics",),
    "network.heuristic_": ("heuristic",),
    "policy.": ("policy",),
    "vqvae.": ("subgoals", "prior"),
    "heuristic.": ("heuristic",),
}
"""The networks that settings with these beginnings shape; all others shape every network."""


@dataclass(frozen=True, slots=True)
class NetworkSizes:
    """Sizes of the networks; see `Preset` for those a domain chooses.

    `policy_downsample` and `dynamics_downsample` fold the grids of those two networks, which look
    at single cells; 0 folds them like the others. `dynamics_attention` is how many of the last
    blocks of the dynamics attend over all cells; -1 attends like the others. `same_symbols` lets
    cells with the same symbol exchange features (see `SameSymbols`). `subgoal_relations` and
    `dynamics_relations` are the numbers of places with which the decoder of subgoals and the
    dynamics compare every cell (see `SubgoalModel` and `Dynamics`). `changes` shows the encoder
    of subgoals what comes and what goes instead of both states, and `scaled_codes` gives codes
    the length √D instead of 1 before they are decoded; both make learning faster.
    `heuristic_channels` and `heuristic_blocks` are the heuristic's own; 0 takes `channels` and
    `blocks`.
    """

    channels: int = 48
    blocks: int = 5
    attention: int = 0
    downsample: int = 1
    positions: bool = True
    motion: int = 0
    rewrites: bool = False
    same_symbols: bool = False
    subgoal_relations: int = 0
    policy_channels: int = 32
    policy_blocks: int = 4
    policy_downsample: int = 0
    detector_channels: int = 24
    detector_blocks: int = 2
    encoder_channels: int = 32
    encoder_blocks: int = 2
    head_channels: int = 32
    head_layers: int = 3
    dynamics_channels: int = 32
    dynamics_blocks: int = 2
    dynamics_downsample: int = 0
    dynamics_attention: int = -1
    dynamics_relations: int = 0
    changes: bool = False
    scaled_codes: bool = False
    heuristic_channels: int = 0
    heuristic_blocks: int = 0

    @property
    def heuristic_size(self) -> tuple[int, int]:
        """Channels and blocks of the heuristic."""
        return self.heuristic_channels or self.channels, self.heuristic_blocks or self.blocks


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """Everything but a domain's spec that the networks are built from.

    Attributes:
        sizes: channels and blocks.
        horizon: H, most low-level steps to a subgoal.
        chunk: C, actions that the policy foresees at once.
        num_codes: K, size of the codebook.
        code_dimension: D, length of a code.
        commitment: β of the VQ-VAE.
        revive_below: uses a batch below which a code is replaced.
        max_distance: the largest remaining distance that the heuristic knows.
        num_bins: into how many parts it is divided.
        seed: of the initial weights.
    """

    sizes: NetworkSizes
    horizon: int
    chunk: int
    num_codes: int
    code_dimension: int
    commitment: float
    revive_below: float
    max_distance: int
    num_bins: int
    seed: int

    @classmethod
    def of(cls, configuration: Mapping[str, Any]) -> Self:
        """The plan of a training's configuration, as JSON: a run's own or the one on a card.

        Sizes that an older card does not name are the ones that were fixed then: the defaults.

        Raises:
            ModelError: the configuration lacks a setting, or names one that is not known here.
        """
        try:
            return cls._of(configuration)
        except (KeyError, TypeError) as error:
            raise ModelError(
                f"The model's configuration is not one of this version's ({error}); train it again "
                "or install a matching version."
            ) from None

    @classmethod
    def _of(cls, configuration: Mapping[str, Any]) -> Self:
        codes, distances = configuration["vqvae"], configuration["heuristic"]
        return cls(
            sizes=NetworkSizes(**configuration["network"]),
            horizon=configuration["horizon"],
            chunk=configuration["policy"]["chunk"],
            num_codes=codes["num_codes"],
            code_dimension=codes["code_dimension"],
            commitment=codes["commitment"],
            revive_below=REVIVED * codes["batch"] / codes["num_codes"],
            max_distance=distances["max_distance"],
            num_bins=distances["num_bins"],
            seed=configuration["seed"],
        )

    def shaping(self) -> dict[str, int | bool]:
        """The settings that shape the weights, by the names they have in a configuration."""
        return {
            **{f"network.{name}": value for name, value in asdict(self.sizes).items()},
            "horizon": self.horizon,
            "policy.chunk": self.chunk,
            "vqvae.num_codes": self.num_codes,
            "vqvae.code_dimension": self.code_dimension,
            "heuristic.num_bins": self.num_bins,
        }


def shaped_networks(setting: str) -> tuple[str, ...]:
    """The networks that a setting shapes, by its name in a configuration; empty for all."""
    found = [names for beginning, names in SHAPED.items() if setting.startswith(beginning)]
    return found[0] if found else ()
