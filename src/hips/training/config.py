"""Every hyperparameter of training as data: defaults by size, overrides by dotted name, JSON."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hips.domains import Domain, Preset
from hips.errors import ConfigError
from hips.models.networks.plan import NetworkSizes

Size = Literal["smoke", "laptop", "paper"]
Segmentation = Literal["detector", "dp", "events"]


@dataclass(frozen=True, slots=True)
class StageConfig:
    """One optimisation: Adam, a short warm-up, then a cosine to zero.

    Attributes:
        steps: optimisation steps.
        batch: samples a step, over all processes.
        learning_rate: peak learning rate.
        validate_every: steps between validations.
        patience: validations without improvement before stopping; 0 never stops early.
        anew: in a training that goes on from a model, begin as if there were none: what the stage
            prepares is prepared, and the network that it is the first to teach is random.
    """

    steps: int = 1000
    batch: int = 256
    learning_rate: float = 1e-3
    validate_every: int = 500
    patience: int = 0
    anew: bool = False


@dataclass(frozen=True, slots=True)
class PolicyConfig(StageConfig):
    """The subgoal-conditioned policy on random segments; `chunk` actions are foreseen."""

    chunk: int = 10


@dataclass(frozen=True, slots=True)
class DetectorConfig(StageConfig):
    """REINFORCE of the detector together with the policy; `batch` counts trajectories."""

    batch: int = 8
    validate_every: int = 50
    samples: int = 16
    segment_penalty: float = 0.1
    discount: float = 0.99
    entropy_bonus: float = 0.01


@dataclass(frozen=True, slots=True)
class VqvaeConfig(StageConfig):
    """The discrete VQ-VAE, initialised by K-means from the continuous autoencoder."""

    batch: int = 128
    validate_every: int = 1000
    num_codes: int = 64
    code_dimension: int = 128
    commitment: float = 0.1


@dataclass(frozen=True, slots=True)
class HeuristicConfig(StageConfig):
    """The distribution over remaining steps."""

    max_distance: int = 128
    num_bins: int = 128


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """All of one training run; saved as JSON beside the weights.

    `segmented` trajectories at most are segmented for the stages that learn subgoals: the exact
    segmentation asks the policy about every pair of near states. `events` says which of the coming
    events is the subgoal, if events segment. `start` names the model whose weights are the first
    ones, with their hash; None for random ones.
    """

    domain: str
    parameters: Mapping[str, Any]
    size: Size = "laptop"
    seed: int = 0
    demonstrations: int = 10_000
    quality: float = 1.0
    horizon: int = 10
    segmentation: Segmentation = "detector"
    segmented: int = 10_000
    events: int = 1
    network: NetworkSizes = field(default_factory=NetworkSizes)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    detector: DetectorConfig = field(default_factory=DetectorConfig)
    chunks: StageConfig = field(default_factory=lambda: StageConfig(batch=128))
    autoencoder: StageConfig = field(default_factory=lambda: StageConfig(batch=128))
    vqvae: VqvaeConfig = field(default_factory=VqvaeConfig)
    prior: StageConfig = field(default_factory=lambda: StageConfig(batch=128))
    heuristic: HeuristicConfig = field(default_factory=HeuristicConfig)
    dynamics: StageConfig = field(default_factory=StageConfig)
    start: Mapping[str, str] | None = None


_SCALE: Mapping[Size, float] = {"smoke": 0.0, "laptop": 1.0, "paper": 10.0}
_LAPTOP_STEPS: Mapping[str, int] = {
    "policy": 3_000,
    "detector": 150,
    "chunks": 1_000,
    "autoencoder": 500,
    "vqvae": 7_000,
    "prior": 5_000,
    "heuristic": 6_000,
    "dynamics": 1_000,
}
_SMOKE_STEPS = 30


def default_config(domain: Domain, size: Size = "laptop", seed: int = 0) -> TrainingConfig:
    """The configuration a domain's preset gives at a size."""
    preset = domain.preset
    base = TrainingConfig(
        domain=domain.name,
        parameters=domain.parameters(),
        size=size,
        seed=seed,
        demonstrations=_demonstrations(preset, size),
        quality=0.0 if size == "paper" else preset.quality,
        horizon=preset.horizon,
        network=_network(preset, size),
        policy=PolicyConfig(chunk=preset.horizon),
        detector=DetectorConfig(segment_penalty=preset.segment_penalty),
        vqvae=VqvaeConfig(
            num_codes=preset.num_codes,
            code_dimension=preset.code_dimension,
            commitment=preset.commitment,
        ),
        heuristic=HeuristicConfig(max_distance=preset.max_distance),
    )
    stages: dict[str, Any] = {
        name: _schedule(getattr(base, name), name, size) for name in _LAPTOP_STEPS
    }
    config = replace(base, **stages)
    return override(config, preset.laptop) if size == "laptop" else config


def _demonstrations(preset: Preset, size: Size) -> int:
    counts = {"smoke": 300, "laptop": preset.demonstrations, "paper": preset.paper_demonstrations}
    return counts[size]


def _network(preset: Preset, size: Size) -> NetworkSizes:
    if size == "smoke":
        return NetworkSizes(
            channels=16, blocks=2, attention=min(1, preset.attention), downsample=preset.downsample,
            positions=preset.positions, motion=preset.motion, policy_channels=16, policy_blocks=2,
            detector_channels=8, detector_blocks=1, encoder_channels=16, encoder_blocks=1,
            head_channels=16, head_layers=1, dynamics_channels=16, dynamics_blocks=1,
        )  # fmt: skip
    factor = 2 if size == "paper" else 1
    return NetworkSizes(
        channels=preset.channels * factor,
        blocks=preset.blocks * factor,
        attention=preset.attention,
        downsample=preset.downsample,
        positions=preset.positions,
        motion=preset.motion,
        policy_channels=preset.policy_channels * factor,
        policy_blocks=preset.policy_blocks,
    )


def _schedule(stage: StageConfig, name: str, size: Size) -> StageConfig:
    if size == "smoke":
        batch = 8 if name == "detector" else 64
        return replace(stage, steps=_SMOKE_STEPS, batch=batch, validate_every=_SMOKE_STEPS)
    return replace(stage, steps=round(_LAPTOP_STEPS[name] * _SCALE[size]))


def override(config: TrainingConfig, assignments: Sequence[str]) -> TrainingConfig:
    """Applies assignments such as `vqvae.num_codes=32`."""
    for assignment in assignments:
        path, separator, text = assignment.partition("=")
        if not separator:
            raise ConfigError(f"'{assignment}' is not of the form stage.name=value.")
        config = _assign(config, path.strip().split("."), text.strip(), assignment)
    return config


def _assign(node: Any, path: Sequence[str], text: str, assignment: str) -> Any:
    fields = {item.name for item in dataclasses.fields(node)}
    if path[0] not in fields:
        raise ConfigError(
            f"'{assignment}': no setting '{path[0]}'. Available: {', '.join(sorted(fields))}."
        )
    present = getattr(node, path[0])
    if dataclasses.is_dataclass(present) != (len(path) > 1):
        raise ConfigError(f"'{assignment}': name one setting, e.g. vqvae.num_codes=32.")
    if len(path) > 1:
        return replace(node, **{path[0]: _assign(present, path[1:], text, assignment)})
    hint = typing.get_type_hints(type(node))[path[0]]
    return replace(node, **{path[0]: _convert(hint, text, assignment)})


def _convert(hint: Any, text: str, assignment: str) -> Any:
    choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
    if choices:
        if text not in choices:
            raise ConfigError(f"'{assignment}': choose one of {', '.join(choices)}.")
        return text
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigError(f"'{assignment}': true or false.")
        return text.lower() == "true"
    if not isinstance(hint, type):
        raise ConfigError(f"'{assignment}': not a single value, it has an option of its own.")
    try:
        return hint(text)
    except (TypeError, ValueError):
        name = getattr(hint, "__name__", str(hint))
        raise ConfigError(f"'{assignment}': '{text}' is not of type {name}.") from None


def to_json(config: TrainingConfig) -> dict[str, Any]:
    """The configuration as JSON-compatible values."""
    return dataclasses.asdict(config)


def from_json(content: Mapping[str, Any]) -> TrainingConfig:
    """The inverse of `to_json`."""
    return _build(TrainingConfig, content)


def _build(cls: Any, content: Mapping[str, Any]) -> Any:
    hints = typing.get_type_hints(cls)
    known = {item.name for item in dataclasses.fields(cls)}
    unknown = set(content) - known
    if unknown:
        raise ConfigError(f"Unknown setting '{sorted(unknown)[0]}' in a saved configuration.")
    values = {
        name: _build(hints[name], value) if dataclasses.is_dataclass(hints[name]) else value
        for name, value in content.items()
    }
    return cls(**values)
