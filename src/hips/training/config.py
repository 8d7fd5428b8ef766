"""All hyperparameters of a training run as data: shared ones and those of each part."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hips import assignments
from hips.domains.base import Domain
from hips.errors import ConfigError
from hips.training.contract import Part
from hips.training.schedule import Size
from hips.training.survey import Survey, suggested

SMOKE_DEMONSTRATIONS = 300
SYMMETRIES = ALL, RELABELLINGS, NONE = "all", "relabellings", "none"
USUAL_SEGMENTATION = "events"
PRECISIONS = FLOAT32, BFLOAT16, AUTO = "float32", "bfloat16", "auto"
"""What the layers of a network compute with in training; weights and losses stay 32-bit floats."""
ELSEWHERE = ("domain", "parameters", "warm_start")
"""Fields set by their own arguments, never as a setting."""


@dataclass(frozen=True, slots=True)
class SegmentationConfig:
    """How trajectories are segmented into subgoals.

    Attributes:
        method: name of a segmenter.
        penalty: α, the cost of each additional subgoal.
        tolerance: the farthest of the subgoals that are worth at most this much less than the best
            one is taken, where all are weighed.
        foresight: λ, the weight of a first generator's log p(s_g | s) in a second segmentation,
            from which the generator learns on; 0 for none.
        ahead: for segmentation by events, which of the coming events is the subgoal.
        most: maximum number of trajectories to segment, if scoring all pairs is costly.
    """

    method: str = USUAL_SEGMENTATION
    penalty: float = 0.1
    tolerance: float = 0.0
    foresight: float = 0.0
    ahead: int = 1
    most: int = 10_000

    def __post_init__(self) -> None:
        if self.tolerance < 0:
            raise ConfigError("segmentation.tolerance must be 0 or more.")
        if self.foresight < 0:
            raise ConfigError("segmentation.foresight must be 0 or more.")
        if self.ahead < 1:
            raise ConfigError(
                "segmentation.ahead must be at least 1, which takes the next event as the subgoal."
            )


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """The configuration of a training run; saved as JSON next to the weights.

    Attributes:
        domain: name of the domain.
        parameters: the domain's parameters.
        size: how much to train.
        seed: of all random draws.
        precision: of the numbers in the networks' layers: `float32`, `bfloat16`, which is
            faster on processors and GPUs that have it, or `auto`, the faster of the two.
        demonstrations: trajectories to collect, if none are given.
        quality: of those, from 0 (wandering) to 1 (near-optimal).
        longest: steps of the longest of those; 0 for no limit.
        cut_loops: whether what a demonstrator did between two visits of a state is cut out of the
            demonstrations. Dynamics and distances are learned from the cut-out states, too.
        symmetries: which of the domain's symmetries multiply the demonstrations: `all`,
            `relabellings` (of colours, say), which leave the actions alone, or `none`. Mirror
            images reverse a demonstrator's habits, such as finishing rows before columns; without
            them a search follows the habit and does not waver.
        horizon: H, the maximum number of low-level steps to a subgoal.
        segmentation: how trajectories are segmented into subgoals.
        parts: the configuration of each part to train, by name.
        warm_start: the model to start from, the hash of its weights and its parts; None for
            random weights.
    """

    domain: str
    parameters: Mapping[str, Any]
    size: Size = "laptop"
    seed: int = 0
    precision: str = FLOAT32
    demonstrations: int = 10_000
    quality: float = 1.0
    longest: int = 0
    cut_loops: bool = False
    symmetries: str = ALL
    horizon: int = 10
    segmentation: SegmentationConfig = field(default_factory=SegmentationConfig)
    parts: Mapping[str, Any] = field(default_factory=dict)
    warm_start: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.horizon < 1:
            raise ConfigError("horizon must be at least 1.")
        if self.precision not in PRECISIONS:
            raise ConfigError(
                f"Unknown precision '{self.precision}'. Available: {', '.join(PRECISIONS)}."
            )
        if self.symmetries not in SYMMETRIES:
            raise ConfigError(
                f"Unknown symmetries '{self.symmetries}'. Available: {', '.join(SYMMETRIES)}."
            )

    @property
    def warm_parts(self) -> tuple[str, ...]:
        """Parts that the model of a warm start has."""
        return () if self.warm_start is None else tuple(self.warm_start["parts"])


def default_config(
    domain: Domain,
    parts: Mapping[str, Part],
    size: Size = "laptop",
    seed: int = 0,
    survey: Survey | None = None,
) -> TrainingConfig:
    """The default configuration of a domain at a size; a survey of it chooses what suits it."""
    preset = suggested(domain, survey)
    return TrainingConfig(
        domain=domain.name,
        parameters=domain.parameters(),
        size=size,
        seed=seed,
        demonstrations=SMOKE_DEMONSTRATIONS if size == "smoke" else preset.demonstrations,
        quality=0.0 if size == "paper" else 1.0,
        longest=preset.longest_demonstration if size == "paper" else 0,
        horizon=preset.horizon,
        segmentation=SegmentationConfig(
            method=_paper_segmentation(parts) if size == "paper" else USUAL_SEGMENTATION,
            penalty=preset.segment_penalty,
        ),
        parts={name: part.configure(domain, size, survey) for name, part in parts.items()},
    )


def _paper_segmentation(parts: Mapping[str, Part]) -> str:
    """The published segmenter, if a part provides it."""
    found = [part.paper_segmentation for part in parts.values() if part.paper_segmentation]
    return found[0] if found else USUAL_SEGMENTATION


def override(config: TrainingConfig, overrides: Sequence[str]) -> TrainingConfig:
    """Applies assignments such as `subgoals.num_codes=32` or `segmentation.method=exact`.

    The name of a part stands for its configuration.
    """
    full = []
    for assignment in overrides:
        first = assignments.split(assignment)[0].split(".")[0]
        if first in ELSEWHERE:
            raise ConfigError(f"'{assignment}': set '{first}' with its own option.")
        is_part = first in config.parts
        full.append(f"parts.{assignment}" if is_part else assignment)
    return assignments.assign(config, full)


def to_json(config: TrainingConfig) -> dict[str, Any]:
    """The configuration as JSON-compatible values."""
    return dataclasses.asdict(config)


def from_json(content: Mapping[str, Any], parts: Mapping[str, Part]) -> TrainingConfig:
    """The inverse of `to_json`, given the parts that it configures."""
    own = dict(content)
    entries = own.pop("parts", {})
    unknown = sorted(set(entries) - set(parts))
    if unknown:
        raise ConfigError(
            f"The configuration has an unknown part '{unknown[0]}'; load its plug-in."
        )
    configs = {name: build(parts[name].config_type, entry) for name, entry in entries.items()}
    config: TrainingConfig = build(TrainingConfig, own)
    return dataclasses.replace(config, parts=configs)


def build(cls: Any, content: Mapping[str, Any], where: str = "a saved configuration") -> Any:
    """A dataclass, with dataclasses as its fields, from JSON; fields left out have defaults.

    Args:
        cls: the dataclass.
        content: values of its fields.
        where: what holds the content, for messages.

    Raises:
        ConfigError: the content is not that of such a dataclass.
    """
    if not isinstance(content, Mapping):
        raise ConfigError(f"There is {content!r} instead of settings in {where}.")
    hints = typing.get_type_hints(cls)
    known = {item.name for item in dataclasses.fields(cls)}
    unknown = set(content) - known
    if unknown:
        raise ConfigError(f"Unknown setting '{sorted(unknown)[0]}' in {where}.")
    values = {
        name: build(hints[name], value, where)
        if dataclasses.is_dataclass(hints[name])
        else _checked(name, value, hints[name], where)
        for name, value in content.items()
    }
    try:
        return cls(**values)
    except TypeError as error:
        raise ConfigError(f"Settings are missing in {where} ({error}).") from None


def _checked(name: str, value: Any, hint: Any, where: str) -> Any:
    """The value, if it is valid for a setting of type `hint`."""
    kinds: dict[Any, Any] = {
        int: int,
        float: (int, float),
        bool: bool,
        str: str,
        tuple: (list, tuple),
        Mapping: Mapping,
    }
    kind = typing.get_origin(hint) or hint
    odd = kind in kinds and not isinstance(value, kinds[kind])
    if odd or (kind in (int, float) and isinstance(value, bool)):
        raise ConfigError(f"'{name}' has the invalid value {value!r} in {where}.")
    return tuple(value) if kind is tuple else value
