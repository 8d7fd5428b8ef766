"""Verdicts on the parts of a model, in words: good, weak or useless, why, and what to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from hips.training.contract import Part

Level = Literal["good", "weak", "useless"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""From best to worst."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """What a score of a part means, and from which values on it is good or useless.

    Attributes:
        meaning: of the score, as a phrase; `6 % of <meaning>` must read well for shares.
        good: at least this is good; None for scores that nothing is concluded from.
        useless: less than this is useless.
        advice: what to try if it is not good.
        share: whether the score is a share from 0 to 1.
    """

    meaning: str
    good: float | None = None
    useless: float = 0.0
    advice: str = ""
    share: bool = True

    def level(self, value: float) -> Level:
        """The verdict on one value; a value that is no number is useless."""
        if self.good is None or value >= self.good:
            return "good"
        return "weak" if value >= self.useless else "useless"

    def spell(self, value: float) -> str:
        """The value in words."""
        return f"{value:.0%} of {self.meaning}" if self.share else f"{self.meaning}: {value:.2f}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a part.

    Attributes:
        part: its name.
        level: good, weak or useless.
        reason: the score that decided, in words.
        advice: what to try; empty if it is good.
    """

    part: str
    level: Level
    reason: str
    advice: str = ""

    def text(self) -> str:
        """One line."""
        return f"{self.part}: {self.level}. {self.reason}" + (
            f": {self.advice}." if self.advice else "."
        )

    def to_json(self) -> dict[str, str]:
        """The verdict as stored in a card."""
        return {"level": self.level, "reason": self.reason, "advice": self.advice}


def judge(part: Part, scores: Mapping[str, float]) -> Verdict | None:
    """The verdict on a part: that of its worst score; None if no score decides."""
    found = [
        (gauge.level(scores[name]), gauge, scores[name])
        for name, gauge in part.gauges.items()
        if name in scores and gauge.good is not None
    ]
    if not found:
        return None
    level, gauge, value = max(found, key=lambda one: LEVELS.index(one[0]))
    advice = "" if level == "good" else gauge.advice
    return Verdict(part.name, level, gauge.spell(value), advice)


def judge_all(
    parts: Mapping[str, Part], scores: Mapping[str, Mapping[str, float]]
) -> list[Verdict]:
    """The verdicts on all parts that have a decisive score."""
    found = [judge(part, scores[name]) for name, part in parts.items() if name in scores]
    return [verdict for verdict in found if verdict is not None]


def combine(verdicts: Sequence[Verdict], tried: Verdict | None) -> list[Verdict]:
    """Verdicts on scores, with that of a trial, which decides about its own part.

    Subgoals that help in a search are not useless, whatever their scores; advice is kept.
    """
    if tried is None:
        return list(verdicts)
    by_score = next((one for one in verdicts if one.part == tried.part), None)
    if by_score is not None and by_score.level != "good":
        advice = [text for text in (by_score.advice, tried.advice) if text]
        reason = f"{by_score.reason}; {tried.reason}"
        tried = Verdict(tried.part, tried.level, reason, advice[0] if advice else "")
    return [*(one for one in verdicts if one.part != tried.part), tried]


def useless_parts(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Parts that a card calls useless, given the card's facts; none without a verdict."""
    entries = facts.get("verdict", {})
    verdicts = entries.get("parts", {}) if isinstance(entries, Mapping) else {}
    return tuple(
        name
        for name, one in verdicts.items()
        if isinstance(one, Mapping) and one.get("level") == "useless"
    )


def as_facts(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Verdicts as a card's entry."""
    return {"parts": {verdict.part: verdict.to_json() for verdict in verdicts}}
