"""`hips web`: watches searches in the browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hips.cli.options import PluginOption, load_plugins
from hips.errors import MissingExtraError


def register(app: typer.Typer) -> None:
    """Adds the verb to the command line."""
    app.command("web")(serve)


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond this machine, a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8008,
    results: Annotated[
        Path | None, typer.Option(help="Results folder of `hips bench` to show.")
    ] = None,
    plugins: PluginOption = None,
    searches: Annotated[
        int | None, typer.Option(min=1, help="Searches at the same time; others wait.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="Most seconds of a search.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Watch searches in the browser.

    Pick, paste, draw or play a problem; watch the search tree grow; compare methods; change ε;
    animate the plan. The page needs no network. Ctrl-C ends the server.

    For example:

      hips web

      hips web --results docs/results --port 0 --no-browser

      hips web --plugin my_domain.py
    """
    try:
        from hips.web.limits import Limits
        from hips.web.server import Address, prepare
    except ImportError as error:
        raise MissingExtraError(f"The web page ({error.name})", "serve") from None
    load_plugins(plugins)
    limits = Limits()
    limits = replace(limits, open=searches or limits.open, seconds=max_seconds or limits.seconds)
    site = prepare(Address(host, port), limits, results)
    typer.echo(f"HIPS-ε is at {site.url} (Ctrl-C ends it)")
    site.run(browser)
