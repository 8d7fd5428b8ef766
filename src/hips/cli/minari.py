"""`hips export-minari` and `hips import-minari`: exchange of datasets with other projects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hips import data
from hips.cli.options import (
    DomainArgument,
    PluginOption,
    SetOption,
    VariantOption,
    load_plugins,
    make_domain,
    note,
)

IdentifierArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Minari dataset id, such as sokoban/expert-v0.")
]


def register(app: typer.Typer) -> None:
    """Adds the verbs to the command line."""
    app.command("export-minari")(export_dataset)
    app.command("import-minari")(import_dataset)


def export_dataset(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A collected dataset.")],
    identifier: IdentifierArgument,
    plugins: PluginOption = None,
) -> None:
    """Write a collected dataset as a local Minari dataset.

    For example:

      hips export-minari data/sokoban sokoban/expert-v0
    """
    load_plugins(plugins)
    dataset = data.load(folder)
    data.export_minari(dataset, identifier)
    note(f"wrote {len(dataset)} episodes to the local Minari dataset {identifier}")


def import_dataset(
    name: DomainArgument,
    identifier: IdentifierArgument,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write.")],
    variant: VariantOption = None,
    settings: SetOption = None,
    plugins: PluginOption = None,
) -> None:
    """Read a local Minari dataset of grids and keep the episodes that reach a goal.

    For example:

      hips import-minari sokoban sokoban/expert-v0 data/imported
    """
    domain = make_domain(name, variant, settings, plugins)
    dataset = data.save(data.import_minari(identifier, domain), folder)
    left_out = dataset.manifest["source"]["episodes_left_out"]
    note(f"{folder}: {len(dataset)} demonstrations; {left_out} episodes reached no goal")
