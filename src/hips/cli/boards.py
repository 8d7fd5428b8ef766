"""States in the terminal: pictures where it has colours, text elsewhere."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.pictures import ansi

MOST_COLUMNS = 80
MOST_ROWS = 60
"""Room for a picture that is written to a file."""


def has_colours(console: Console) -> bool:
    """Whether pictures of half blocks can be told apart there."""
    return console.color_system is not None and not console.no_color


def board(console: Console, domain: Domain, state: Grid, other_rows: int, picture: bool) -> Text:
    """A state as a picture or as text.

    Args:
        console: where it is to be shown.
        domain: the domain at the size of the state.
        state: the state `[H, W]`.
        other_rows: rows that must remain visible beside it.
        picture: whether to draw it.
    """
    if not picture:
        return Text(domain.text(state), no_wrap=True, overflow="ignore")
    seen = console.file.isatty()
    rows = console.height - other_rows if seen else MOST_ROWS
    return ansi(domain, state, min(MOST_COLUMNS, console.width), rows)
