"""Search settings, each declared once.

Command-line options, catalogue entries, cache keys, the settings in a result and the columns of a
report derive from the fields of `Settings`: a new knob is one field.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from hips import assignments
from hips.errors import ConfigError
from hips.planner.evaluations import DEFAULT_REROOTING, EVALUATIONS
from hips.planner.generators import GENERATORS

LEARNED = "learned"
"""The generator of the model."""
TO_ZERO = 0.0
"""The value of ε that stands for the limit ε → 0."""
PAPER = "paper"
EXHAUSTIVE, BY_POLICY = "exhaustive", "policy"
"""Ways to reach a subgoal."""
EAGER, FORESEEN, LATE = "eager", "foreseen", "late"
"""When rollouts to subgoals happen."""
BY_NODES, BY_TIME = "nodes", "time"
"""What subgoals and single actions share."""

Value: TypeAlias = str | int | float | bool


ByDomain: TypeAlias = Callable[[Any], Value]
"""A paper value that differs by domain: a function of the domain's preset."""
PUBLISHED_ROLLOUT = 40
"""Steps of a rollout in the published search, unless the horizon of training is longer."""


@dataclass(frozen=True, slots=True)
class Knob:
    """Metadata of one setting besides its type.

    Attributes:
        help: one sentence of help text.
        default: the value unless user, method or model sets it; None for none.
        paper: the value in the paper's experiments, or a function of the domain's preset.
        low: the minimum.
        high: the maximum.
        above_low: whether the minimum itself is excluded.
        choices: the allowed values, from a registry.
        read: parses text, if the type alone does not.
        write: the inverse of `read`.
        unspoken: the value that `spell` leaves out: what searches did before the setting existed,
            so that their results stay comparable.
    """

    help: str
    default: Value | None = None
    paper: Value | ByDomain | None = None
    low: float = -math.inf
    high: float = math.inf
    above_low: bool = False
    choices: Callable[[], Iterable[str]] | None = None
    read: Callable[[str], Value] | None = None
    write: Callable[[Any], str] | None = None
    unspoken: Value | None = None

    def check(self, name: str, value: Any) -> None:
        """Rejects a value outside the range or the choices."""
        if self.choices is not None and value not in self.choices():
            raise ConfigError(
                f"Unknown {name.replace('_', ' ')} '{value}'. "
                f"Available: {', '.join(self.choices())}."
            )
        if isinstance(value, int | float) and not isinstance(value, bool):
            inside = self.low < value if self.above_low else self.low <= value
            if not (inside and value <= self.high and math.isfinite(value)):
                raise ConfigError(f"{name} = {value} is not in {self.range()}.")

    def range(self) -> str:
        """The interval of allowed values; empty without limits."""
        if not math.isfinite(self.low) and not math.isfinite(self.high):
            return ""
        left = "(" if self.above_low or not math.isfinite(self.low) else "["
        right = "]" if math.isfinite(self.high) else ")"
        return f"{left}{_bound(self.low)}, {_bound(self.high)}{right}"


def _bound(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else ("∞" if value > 0 else "-∞")


def parse_epsilon(text: str) -> float:
    """ε from text: a number in (0, 1], or `0+` (also `->0`, `→0`) for the limit.

    >>> parse_epsilon("1e-3"), parse_epsilon("0+")
    (0.001, 0.0)
    """
    if text in {"0+", "->0", "→0"}:
        return TO_ZERO
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value <= 1.0:
        raise ConfigError(f"ε '{text}' is not in (0, 1]; write 0+ for the limit ε→0.")
    return value


def spell_epsilon(value: float) -> str:
    """The inverse of `parse_epsilon`."""
    return "0+" if value == TO_ZERO else _spell(value)


def knob(help: str, **facts: Any) -> Any:
    """A field of `Settings`; None if unset."""
    return dataclasses.field(default=None, metadata={"knob": Knob(help, **facts)})


def generator_names() -> tuple[str, ...]:
    """Names of the available subgoal generators."""
    return (LEARNED, *GENERATORS.names())


@dataclass(frozen=True, slots=True)
class Settings:
    """Search settings. None takes the value of the model's card, or else the default.

    >>> Settings(epsilon=0.01).completed({"top_p": 0.9}).top_p
    0.9
    """

    evaluation: str | None = knob(
        "Evaluation function: the order of expansion.",
        default="phs_hat", paper="phs_hat", choices=EVALUATIONS.names,
    )  # fmt: skip
    epsilon: float | None = knob(
        "Probability share ε of low-level actions; 0+ for the limit ε → 0.",
        default=1e-3, paper=lambda preset: float(preset.epsilon), low=0, high=1,
        read=parse_epsilon, write=spell_epsilon,
    )  # fmt: skip
    dynamics: str | None = knob(
        "Dynamics to simulate with: the true rules, learned, or learned for subgoals only.",
        default="true", paper="true", choices=lambda: ("true", "learned", "hybrid"),
    )  # fmt: skip
    generator: str | None = knob(
        "Generator of subgoals.", default=LEARNED, paper=LEARNED, choices=generator_names
    )
    top_p: float | None = knob(
        "Decode the likeliest codes up to this probability mass of the prior; 1 decodes all.",
        default=1.0, paper=1.0, low=0, high=1, above_low=True,
    )  # fmt: skip
    early_expansions: int | None = knob(
        "In the first expansions of a search, this many, decode codes up to `early_top_p` only.",
        default=0, paper=0, unspoken=0, low=0, high=1_000_000,
    )  # fmt: skip
    early_top_p: float | None = knob(
        "Probability mass of the prior that the first `early_expansions` decode.",
        default=0.8, paper=1.0, unspoken=0.8, low=0, high=1, above_low=True,
    )  # fmt: skip
    prior_temperature: float | None = knob(
        "Divide the logits of π_SG by this (of π_BC in a search over single actions); above 1, the "
        "heuristic has more influence.",
        default=1.0, paper=1.0, low=0, above_low=True,
    )  # fmt: skip
    heuristic_weight: float | None = knob(
        "Multiply the heuristic by this, as weighted A* does; above 1 is greedier.",
        default=1.0, paper=1.0, low=0, above_low=True,
    )  # fmt: skip
    min_reach_probability: float | None = knob(
        "Stop a rollout when the probability of reaching the subgoal falls below this.",
        default=0.2, paper=0.0, low=0, high=1,
    )  # fmt: skip
    chunk_confidence: float | None = knob(
        "Action chunking: execute further predicted actions while each is at least this likely; "
        "1 queries the policy at every step.",
        default=0.95, paper=1.0, low=0, high=1, above_low=True,
    )  # fmt: skip
    horizon: int | None = knob(
        "Maximum low-level steps to a subgoal; the default is that of training.",
        paper=lambda preset: max(PUBLISHED_ROLLOUT, int(preset.horizon)), low=1, high=10_000,
    )  # fmt: skip
    rollout_retries: int | None = knob(
        "How often a rollout may try another action where the likeliest leads to no new state.",
        default=2, paper=0, low=0, high=8,
    )  # fmt: skip
    rollouts: str | None = knob(
        "When to roll out to a subgoal: when it is proposed, when it is about to be expanded, or "
        "then, but after one query of the policy that discards hopeless ones (foreseen).",
        default=EAGER, paper=EAGER, unspoken=EAGER,
        choices=lambda: (EAGER, FORESEEN, LATE),
    )  # fmt: skip
    pass_goals: bool | None = knob(
        "Keep a rollout that passes a goal on its way, with the goal as its end.",
        default=True, paper=False,
    )  # fmt: skip
    decoding: str | None = knob(
        "How cell scores become a subgoal: the domain's decoder, which keeps pieces and walls, or "
        "the best symbol of each cell.",
        default="domain", paper="cells", choices=lambda: ("domain", "cells"),
    )  # fmt: skip
    equal_subgoals: str | None = knob(
        "Probability of a subgoal that several codes decode to: their sum, or that of the "
        "likeliest.",
        default="sum", paper="max", choices=lambda: ("sum", "max"),
    )  # fmt: skip
    legality_check: bool | None = knob(
        "Drop states of learned dynamics that break the domain's rules. With hybrid dynamics they "
        "are always dropped.",
        default=True, paper=False,
    )  # fmt: skip
    close_on_generation: bool | None = knob(
        "Never update a generated state (the published protocol).",
        default=False, paper=True,
    )  # fmt: skip
    width: int | None = knob(
        "Expand up to this many nodes of each search per round: faster on one hard level, at the "
        "price of some needless expansions.",
        default=1, paper=1, unspoken=1, low=1, high=1_024,
    )  # fmt: skip
    shares: str | None = knob(
        "What subgoals and single actions share: the nodes of one search, or the time of two "
        "searches that take turns, with both kinds of children and with actions alone; levels are "
        "then solved one at a time, whatever `--batch`.",
        default=BY_NODES, paper=BY_NODES, unspoken=BY_NODES,
        choices=lambda: (BY_NODES, BY_TIME),
    )  # fmt: skip
    head_start: int | None = knob(
        "With shares of time: rows of networks by which the search over both kinds of children is "
        "ahead, so that easy levels do not pay for the other search.",
        default=0, paper=0, unspoken=0, low=0, high=1_000_000_000,
    )  # fmt: skip
    candidates: int | None = knob(
        "Number of subgoals that a generator of single-cell edits proposes per state.",
        default=4, low=1, high=1_000,
    )  # fmt: skip
    verifier_reject: float | None = knob(
        "Discard subgoals that the verifier gives at most this probability of being reached.",
        default=0.1, low=0, high=1,
    )  # fmt: skip
    verifier_accept: float | None = knob(
        "Accept subgoals with at least this probability without a rollout; check them at the end.",
        default=0.99, low=0, high=1,
    )  # fmt: skip
    coverage: float | None = knob(
        "Probability of single-cell edits that decoding covers at each step.",
        default=0.9, low=0, high=1, above_low=True,
    )  # fmt: skip
    reach: str | None = knob(
        "How proposed subgoals are reached: all paths, or the learned policy.",
        default=EXHAUSTIVE, choices=lambda: (EXHAUSTIVE, BY_POLICY),
    )  # fmt: skip
    reach_depth: int | None = knob(
        "Maximum steps to a subgoal if all paths are tried.", default=4, low=1, high=100,
    )  # fmt: skip
    rerooting: float | None = knob(
        "Strength of √LTS's heuristic rerooter: a node weighs exp(-strength · h / h of the root).",
        default=DEFAULT_REROOTING, low=0,
    )  # fmt: skip
    max_steps: int | None = knob(
        "Maximum steps of a policy that acts without search.",
        default=1_000, low=1, high=1_000_000,
    )  # fmt: skip
    target_steps: int | None = knob(
        "Steps to the goal that a policy conditioned on its return is asked for; 0 for those of "
        "the median demonstration.",
        default=0, low=0, high=1_000_000,
    )  # fmt: skip
    precision: str | None = knob(
        "Precision of the networks: int8 where the model has it, or fp32.",
        default="int8", paper="fp32", choices=lambda: ("int8", "fp32"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        kinds = typing.get_type_hints(type(self))
        for name, value in self.given().items():
            _check_type(name, value, kinds[name])
            knobs()[name].check(name, value)

    def given(self) -> dict[str, Value]:
        """The settings that are set, by name."""
        found = {name: getattr(self, name) for name in knobs()}
        return {name: value for name, value in found.items() if value is not None}

    def completed(self, *layers: Mapping[str, Any]) -> Self:
        """These settings; unset ones come from the first layer that has them."""
        values: dict[str, Any] = dict(self.given())
        for layer in layers:
            for name, value in layer.items():
                if name not in knobs():
                    raise ConfigError(f"No setting '{name}'. Available: {', '.join(knobs())}.")
                if value is not None:
                    values.setdefault(name, value)
        return type(self)(**values)

    def only(self, names: Iterable[str]) -> Self:
        """The settings in `names`; all others are unset."""
        kept = set(names)
        values: dict[str, Any] = {n: v for n, v in self.given().items() if n in kept}
        return type(self)(**values)


def _check_type(name: str, value: Any, hint: Any) -> None:
    kind = typing.get_args(hint)[0]
    allowed = (int, float) if kind is float else (kind,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{name} = {value!r} must be of type {kind.__name__}.")


def knobs() -> dict[str, Knob]:
    """Metadata of every setting, by name."""
    return {field.name: field.metadata["knob"] for field in dataclasses.fields(Settings)}


def defaults() -> dict[str, Value]:
    """The default values of settings."""
    return {name: one.default for name, one in knobs().items() if one.default is not None}


def paper_values(preset: Any) -> dict[str, Value]:
    """The paper's values; where they differ by domain, those of its `preset`."""
    return {
        name: one.paper(preset) if callable(one.paper) else one.paper
        for name, one in knobs().items()
        if one.paper is not None
    }


SETS: Mapping[str, Callable[[Any], dict[str, Value]]] = {PAPER: paper_values}
"""Named sets of values, as functions of a domain's preset."""


def named_set(name: str, preset: Any) -> dict[str, Value]:
    """The values of the set `name`."""
    if name not in SETS:
        raise ConfigError(f"Unknown set of settings '{name}'. Available: {', '.join(SETS)}.")
    return SETS[name](preset)


def read(name: str, text: str) -> Value:
    """Parses the value of the setting `name`."""
    one = knobs().get(name)
    if one is None:
        raise ConfigError(f"No setting '{name}'. Available: {', '.join(knobs())}.")
    if one.read is not None:
        return one.read(text)
    value: Value = assignments.convert(name, text, typing.get_type_hints(Settings)[name])
    return value


def from_values(values: Mapping[str, Any]) -> Settings:
    """Settings from values by name, parsed where they are text; None is unset.

    >>> from_values({"epsilon": "0+", "horizon": 8, "top_p": None}).given()
    {'epsilon': 0.0, 'horizon': 8}
    """
    given = {
        name: read(name, value) if isinstance(value, str) else value
        for name, value in values.items()
        if value is not None
    }
    return Settings().completed(given)


def spell(values: Mapping[str, Value]) -> str:
    """Settings as one line of text, in the order of their declaration, without unspoken ones.

    >>> spell({"top_p": 0.95, "epsilon": 0.001, "width": 1})
    'epsilon=0.001 top_p=0.95'
    """
    known = knobs()
    spoken = [n for n in known if n in values and values[n] != known[n].unspoken]
    written = {n: (known[n].write or _spell)(values[n]) for n in spoken}
    return " ".join(f"{name}={text}" for name, text in written.items())


def _spell(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
