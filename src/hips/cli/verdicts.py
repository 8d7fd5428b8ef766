"""The verdict on a new model, and the meaning of its scores, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hips import parts
from hips.cli.options import note
from hips.domains.base import Domain
from hips.methods.trial import (
    compared,
    describe,
    judge_trial,
    run_trial,
    why_undecided,
)
from hips.models.card import Card, write_card
from hips.training.durations import spell_minutes
from hips.training.verdict import as_facts, combine, judge_all


def report_verdict(
    domain: Domain, model: Path, card: Card, seconds: float, threads: int | None
) -> Card:
    """Tries a model on fresh levels, judges every part, and writes both into its card.

    Args:
        domain: the domain.
        model: its folder.
        card: its card.
        seconds: for the trial; 0 for none.
        threads: of the networks; None for the default.
    """
    tried = {}
    if not compared(card.parts):
        note("the model has too few parts to solve levels: nothing to try")
    elif seconds > 0:
        note(f"trying the model on fresh levels, for at most about {spell_minutes(seconds)}")
        tried = run_trial(model, domain, card, seconds, threads)
        for one in tried.values():
            note(f"  {one.text()}")
        if reason := why_undecided(tried):
            note(f"  {reason}")
    else:
        note("no time is left to try the model on fresh levels; the verdict rests on its scores")
    scores = {name: entry.scores for name, entry in card.parts.items()}
    known = {name: parts.get(name) for name in card.parts if name in parts.names()}
    verdicts = combine(judge_all(known, scores), judge_trial(tried))
    note("verdict")
    for verdict in verdicts:
        note(f"  {verdict.text()}")
    facts = {**card.facts, "verdict": as_facts(verdicts)}
    if tried:
        facts["trial"] = describe(tried)
    judged = replace(card, facts=facts)
    write_card(model, judged)
    return judged


def print_card(name: str, card: Card) -> None:
    """A model's networks, verdict and trial, and what each of its scores means."""
    console = Console()
    console.print(f"{name}: a model for {card.domain}")
    if "networks" in card.facts:
        console.print(f"networks: {card.facts['networks']}")
    table = Table("part", "score", "value", "meaning", "verdict", box=None)
    judged = card.facts.get("verdict", {}).get("parts", {})
    for part, entry in card.parts.items():
        gauges = parts.get(part).gauges if part in parts.names() else {}
        level = judged.get(part, {}).get("level", "")
        for score, value in entry.scores.items():
            gauge = gauges.get(score)
            kind = "share: " if gauge is not None and gauge.share else ""
            meaning = "" if gauge is None else f"{kind}{gauge.meaning}"
            table.add_row(part, score, f"{value:.3f}", meaning, level)
    console.print(table)
    for part, one in judged.items():
        advice = f" Try: {one['advice']}." if one.get("advice") else ""
        console.print(f"{part}: {one['level']}. {one['reason']}.{advice}", highlight=False)
