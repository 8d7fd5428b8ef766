"""All networks of one model, built from a domain's spec and a plan of their sizes."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from hips.domains import GridSpec
from hips.errors import ConfigError
from hips.models.networks.heads import Detector, Dynamics, Heuristic, Prior, ReachPolicy
from hips.models.networks.layers import GridShape
from hips.models.networks.plan import NetworkPlan
from hips.models.networks.vqvae import SubgoalModel
from hips.seeding import stream_seed

MIN_SIDE = 1


class Networks(nn.Module):
    """The six networks, by name.

    Their order and the names of their parts are those of every checkpoint: keep them.
    """

    def __init__(self, spec: GridSpec, plan: NetworkPlan) -> None:
        super().__init__()
        sizes = plan.sizes
        shape = GridShape.of(spec, sizes)
        policy_shape = replace(shape, downsample=sizes.policy_downsample or sizes.downsample)
        # What one action changes is local: no need to look from anywhere in particular.
        dynamics_shape = replace(
            shape, downsample=sizes.dynamics_downsample or sizes.downsample, anchors=()
        )
        for folded in (shape, policy_shape, dynamics_shape):
            _check(folded, plan)
        _check_relations(shape, sizes.subgoal_relations, "network.subgoal_relations")
        _check_relations(dynamics_shape, sizes.dynamics_relations, "network.dynamics_relations")
        if sizes.dynamics_relations:
            _check_copies(dynamics_shape)
        torch.manual_seed(stream_seed(plan.seed, "networks") % 2**63)
        state = (sizes.channels, sizes.blocks, sizes.attention)
        self.detector = Detector(
            shape, sizes.detector_channels, sizes.detector_blocks, plan.horizon
        )
        self.policy = ReachPolicy(
            policy_shape, sizes.policy_channels, sizes.policy_blocks, plan.chunk
        )
        self.subgoals = SubgoalModel(
            shape,
            *state,
            num_codes=plan.num_codes,
            code_dimension=plan.code_dimension,
            commitment=plan.commitment,
            revive_below=plan.revive_below,
            encoder_channels=sizes.encoder_channels,
            encoder_blocks=sizes.encoder_blocks,
            head_channels=sizes.head_channels,
            head_layers=sizes.head_layers,
            changes=sizes.changes,
            scaled_codes=sizes.scaled_codes,
            relations=sizes.subgoal_relations,
        )
        self.prior = Prior(shape, *state, num_codes=plan.num_codes)
        self.heuristic = Heuristic(
            shape, *sizes.heuristic_size, sizes.attention, plan.max_distance, plan.num_bins
        )
        self.dynamics = Dynamics(
            dynamics_shape,
            sizes.dynamics_channels,
            sizes.dynamics_blocks,
            sizes.attention if sizes.dynamics_attention < 0 else sizes.dynamics_attention,
            sizes.dynamics_relations,
        )
        # A quarter faster on a CPU than channels first.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _check(shape: GridShape, plan: NetworkPlan) -> None:
    if min(shape.cells) < MIN_SIDE:
        raise ConfigError(
            f"A grid of {shape.height}×{shape.width} leaves no cell after cropping its border and "
            f"folding by {shape.downsample}; set network.downsample=1."
        )
    if plan.sizes.channels % 4 or plan.sizes.heuristic_channels % 4:
        raise ConfigError(
            "network.channels and network.heuristic_channels must each be a multiple of 4 "
            "(the attention heads)."
        )
    if plan.sizes.motion < 0:
        raise ConfigError("network.motion must be 0 or more cells.")
    if plan.horizon < 1 or plan.chunk < 1 or plan.num_codes < 2:
        raise ConfigError("horizon and policy.chunk must be at least 1, vqvae.num_codes 2.")


def _check_relations(shape: GridShape, places: int, setting: str) -> None:
    if places < 0:
        raise ConfigError(f"{setting} must be 0 or more places.")
    if places and (shape.anchors or not shape.positions):
        raise ConfigError(
            f"{setting} compares cells with fixed places: it needs network.positions=true and a "
            "domain without anchors."
        )


def _check_copies(shape: GridShape) -> None:
    if shape.downsample > 1 or shape.border:
        raise ConfigError(
            "network.dynamics_relations lets single cells copy each other: it needs "
            "network.dynamics_downsample=1 and a domain without a border."
        )
