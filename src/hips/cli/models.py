"""`hips models`: installed models, their cards, and whether their scores reproduce."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from hips import parts
from hips.cli.options import JsonOption, PluginOption, load_plugins, print_json
from hips.cli.verdicts import print_card
from hips.errors import ModelError
from hips.models import bundle
from hips.models.card import CARD, Card, read_card, write_card

app = typer.Typer(invoke_without_command=True)
TOLERANCE = 0.02
"""Tolerance between a re-measured share and the card's."""
NameArgument = Annotated[str, typer.Argument(help="Name of an installed model, or a folder.")]


def register(root: typer.Typer) -> None:
    """Adds the verb to the command line."""
    root.add_typer(app, name="models")


@app.callback()
def list_models(
    context: typer.Context, plugins: PluginOption = None, json: JsonOption = False
) -> None:
    """List installed models with their parts and scores.

    For example:

      hips models

      hips models check sokoban
    """
    load_plugins(plugins)
    if context.invoked_subcommand is not None:
        return
    cards = {name: read_card(folder) for name, folder in bundle.installed().items()}
    if json:
        print_json({name: card.to_json() for name, card in cards.items()})
    else:
        _print_table(cards)


def _print_table(cards: dict[str, Card]) -> None:
    table = Table("model", box=None)
    table.add_column("plans", justify="right")
    table.add_column("minutes", justify="right")
    table.add_column("parts and scores", overflow="fold")
    for name, card in cards.items():
        minutes = sum(
            _minutes(stage) for part in card.parts.values() for stage in part.training.values()
        )
        count = card.facts.get("data", {}).get("demonstrations", 0)
        listed = "\n".join(_headline(part, card) for part in card.parts)
        of = name if name == card.domain else f"{name} ({card.domain})"
        table.add_row(of, f"{count:,}", f"{minutes:.0f}", listed)
        table.add_section()
    Console().print(table)
    if not cards:
        Console().print("No model is installed; train one with `hips train DOMAIN`.")


def _headline(name: str, card: Card) -> str:
    """A part and its headline score."""
    score = parts.get(name).headline if name in parts.names() else ""
    value = card.parts[name].scores.get(score)
    return name if value is None else f"{name}: {score.replace('_', ' ')} {value:.3f}"


def _minutes(stage: dict[str, Any] | None) -> float:
    """Minutes of a stage, including the same stage of the warm start's model."""
    return 0.0 if stage is None else float(stage.get("minutes", 0)) + _minutes(stage.get("before"))


@app.command("show")
def show_model(name: NameArgument, plugins: PluginOption = None, json: JsonOption = False) -> None:
    """Show a model's scores, what each of them means, and the verdict on its parts."""
    load_plugins(plugins)
    card = read_card(bundle.require(name))
    if json:
        print_json(card.to_json())
    else:
        print_card(name, card)


@app.command("check")
def check_model(name: NameArgument, plugins: PluginOption = None, json: JsonOption = False) -> None:
    """Measure a model's scores again; fail if they differ from its card."""
    from hips.training.scoring import score

    load_plugins(plugins)
    loaded = bundle.load(name)
    exam = loaded.card.facts.get("exam")
    if exam is None:
        raise ModelError(f"{loaded.folder}: the card has no scores to check.")
    measured = score(loaded, parts.known(), exam["demonstrations"], exam["seed"])
    rows = [
        (f"{part}.{key}", claimed, measured.get(part, {}).get(key, float("nan")))
        for part, entry in loaded.card.parts.items()
        for key, claimed in entry.scores.items()
    ]
    differs = [
        key for key, old, new in rows if not abs(new - old) <= TOLERANCE * max(1.0, abs(old))
    ]
    if json:
        print_json({"measured": measured, "differs": differs})
    else:
        table = Table("score", "card", "measured")
        for key, old, new in rows:
            table.add_row(key, f"{old:.4f}", f"{new:.4f}")
        Console().print(table)
    if differs:
        raise ModelError(f"{loaded.folder}: scores not reproduced: {', '.join(differs)}.")


@app.command("record")
def record_facts(
    name: NameArgument,
    results: Annotated[
        Path | None, typer.Option(help="Results folder of `hips bench` with runs of the model.")
    ] = None,
    notes: Annotated[
        list[str] | None, typer.Option("--note", help="A sentence for the card; repeatable.")
    ] = None,
) -> None:
    """Add search results or notes to a model's card; its files and hashes do not change."""
    from hips.benchmark import lines
    from hips.benchmark.cards import search_scores
    from hips.benchmark.queries import Results

    loaded = bundle.load(name)
    facts: dict[str, Any] = {}
    if results is not None:
        found = search_scores(Results(lines.find(results)), loaded.card.fingerprint())
        if not found:
            raise ModelError(f"{results}: holds no runs of the model in {loaded.folder}.")
        facts["benchmark"] = found
    if notes:
        facts["notes"] = list(notes)
    write_card(loaded.folder, replace(loaded.card, facts={**loaded.card.facts, **facts}))
    typer.echo(f"{loaded.folder / CARD}: {', '.join(facts) or 'nothing to add'}")
