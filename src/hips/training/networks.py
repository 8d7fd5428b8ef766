"""All networks of one run, built from the domain's spec and the configuration."""

from __future__ import annotations

import torch
from torch import nn

from hips.domains import GridSpec
from hips.errors import ConfigError
from hips.models.networks.heads import Detector, Dynamics, Heuristic, Prior, ReachPolicy
from hips.models.networks.layers import GridShape
from hips.models.networks.vqvae import SubgoalModel
from hips.seeding import stream_seed
from hips.training.config import TrainingConfig

MIN_SIDE = 1
REVIVED = 0.1
"""A code is revived when it is used less than this share of the mean use."""


class Networks(nn.Module):
    """The six networks, by name."""

    def __init__(self, spec: GridSpec, config: TrainingConfig) -> None:
        super().__init__()
        sizes = config.network
        shape = GridShape.of(spec, sizes.downsample, sizes.positions, sizes.motion)
        _check(shape, config)
        torch.manual_seed(stream_seed(config.seed, "networks") % 2**63)
        state = (sizes.channels, sizes.blocks, sizes.attention)
        self.detector = Detector(
            shape, sizes.detector_channels, sizes.detector_blocks, config.horizon
        )
        self.policy = ReachPolicy(
            shape, sizes.policy_channels, sizes.policy_blocks, config.policy.chunk
        )
        self.subgoals = SubgoalModel(
            shape,
            *state,
            num_codes=config.vqvae.num_codes,
            code_dimension=config.vqvae.code_dimension,
            commitment=config.vqvae.commitment,
            revive_below=REVIVED * config.vqvae.batch / config.vqvae.num_codes,
            encoder_channels=sizes.encoder_channels,
            encoder_blocks=sizes.encoder_blocks,
            head_channels=sizes.head_channels,
            head_layers=sizes.head_layers,
        )
        self.prior = Prior(shape, *state, num_codes=config.vqvae.num_codes)
        self.heuristic = Heuristic(
            shape, *state, config.heuristic.max_distance, config.heuristic.num_bins
        )
        self.dynamics = Dynamics(
            shape, sizes.dynamics_channels, sizes.dynamics_blocks, sizes.attention
        )
        # A quarter faster on a CPU than channels first.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _check(shape: GridShape, config: TrainingConfig) -> None:
    if min(shape.cells) < MIN_SIDE:
        raise ConfigError(
            f"A grid of {shape.height}×{shape.width} leaves no cell after cropping its border and "
            f"folding by {shape.downsample}; set network.downsample=1."
        )
    if config.network.channels % 4:
        raise ConfigError("network.channels must be a multiple of 4 (the attention heads).")
    if config.horizon < 1 or config.policy.chunk < 1 or config.vqvae.num_codes < 2:
        raise ConfigError("horizon and policy.chunk must be at least 1, vqvae.num_codes 2.")
