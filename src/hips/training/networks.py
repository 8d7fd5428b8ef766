"""The networks of one run, built from the domain's spec and the configuration."""

from __future__ import annotations

from hips.domains import GridSpec
from hips.models.networks.assembly import Networks
from hips.models.networks.plan import NetworkPlan
from hips.training import config as configuration
from hips.training.config import TrainingConfig


def network_plan(config: TrainingConfig) -> NetworkPlan:
    """What a configuration says of the networks; read from JSON as on a card, so they agree."""
    return NetworkPlan.of(configuration.to_json(config))


def build_networks(spec: GridSpec, config: TrainingConfig) -> Networks:
    """The six networks with their initial weights."""
    return Networks(spec, network_plan(config))
