"""`hips models`: what is installed, what its card says, and whether that can be reproduced."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from hips.cli.options import JsonOption, print_json
from hips.errors import ModelError
from hips.models import bundle

app = typer.Typer(help="List installed models, or check one.", invoke_without_command=True)
TOLERANCE = 0.02
"""By how much a re-measured share may differ from the card's."""


def register(root: typer.Typer) -> None:
    """Adds the verb to the command line."""
    root.add_typer(app, name="models")


@app.callback()
def list_models(context: typer.Context, json: JsonOption = False) -> None:
    """List installed models with their cards and scores.

    For example:

      hips models

      hips models check sokoban
    """
    if context.invoked_subcommand is not None:
        return
    cards = {name: bundle.read_card(folder) for name, folder in bundle.installed().items()}
    if json:
        print_json(cards)
    else:
        _print_table(cards)


def _print_table(cards: dict[str, dict[str, Any]]) -> None:
    table = Table("model", "domain", "size", "data", "minutes", "reach", "coverage", "h rank")
    for name, card in cards.items():
        scores = card.get("scores", {})
        minutes = sum(_minutes(stage) for stage in card["training"].values())
        table.add_row(
            name,
            card["domain"],
            card["configuration"]["size"],
            f"{card['data'].get('demonstrations', 0):,}",
            f"{minutes:.0f}",
            _percent(scores.get("policy_reach")),
            _percent(scores.get("coverage")),
            f"{scores['heuristic_spearman']:.3f}" if scores else "–",
        )
    Console().print(table)
    if not cards:
        Console().print("No model is installed; `hips train DOMAIN` makes one.")


def _minutes(stage: dict[str, Any] | None) -> float:
    """Of a stage, and of the same stage in the model that it started from."""
    return 0.0 if stage is None else float(stage["minutes"]) + _minutes(stage.get("before"))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


@app.command("check")
def check_model(
    name: Annotated[str, typer.Argument(help="An installed model, or a model's folder.")],
    json: JsonOption = False,
) -> None:
    """Measure a model's validation scores again; fail if they are not those of its card."""
    from hips.benchmark.validation import Scores, score

    loaded = _load(name)
    if "scores" not in loaded.card:
        raise ModelError(f"{loaded.folder}: the card has no scores to check.")
    claimed = Scores.from_json(loaded.card["scores"])
    measured = score(loaded, claimed.demonstrations, claimed.seed)
    rows = [
        (key, value, asdict(measured)[key])
        for key, value in asdict(claimed).items()
        if key not in ("demonstrations", "seed")
    ]
    differs = [key for key, old, new in rows if abs(new - old) > TOLERANCE * max(1.0, abs(old))]
    if json:
        print_json({"measured": asdict(measured), "differs": differs})
    else:
        table = Table("score", "card", "measured")
        for key, old, new in rows:
            table.add_row(key, f"{old:.4f}", f"{new:.4f}")
        Console().print(table)
    if differs:
        raise ModelError(f"{loaded.folder}: not reproduced: {', '.join(differs)}.")


@app.command("record")
def record_facts(
    name: Annotated[str, typer.Argument(help="An installed model, or a model's folder.")],
    results: Annotated[
        Path | None, typer.Option(help="Folder of `hips bench`: how searches with it went.")
    ] = None,
    notes: Annotated[
        list[str] | None, typer.Option("--note", help="A sentence for the card; repeatable.")
    ] = None,
) -> None:
    """Add search results or notes to a model's card; files and their hashes stay as they are."""
    from hips.benchmark import lines
    from hips.benchmark.cards import search_scores
    from hips.benchmark.queries import Results

    folder = _load(name).folder
    facts: dict[str, Any] = {}
    if results is not None:
        facts["search"] = search_scores(Results(lines.find(results)), bundle.fingerprint(folder))
        if not facts["search"]:
            raise ModelError(f"{results}: holds no run of the model in {folder}.")
    if notes:
        facts["notes"] = list(notes)
    bundle.add_to_card(folder, facts)
    typer.echo(f"{folder / bundle.CARD}: {', '.join(facts) or 'nothing to add'}")


def _load(name: str) -> bundle.Bundle:
    """An installed model by its name, or any by its folder."""
    folder = Path(name)
    return bundle.load(folder if (folder / bundle.CARD).exists() else name)
