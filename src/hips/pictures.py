"""Pictures of states and plans: PNG, animated GIF and coloured text for terminals."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from PIL import Image as PillowImage
from rich.style import Style
from rich.text import Text

from hips.arrays import Actions, Grid, Image
from hips.domains.base import Domain, replay
from hips.errors import ConfigError
from hips.files import replacing

PICTURE_SIZE = 480
"""Pixels of a picture's longer side, unless a cell size is given."""

FRAME_MILLISECONDS = 160
LAST_FRAME_MILLISECONDS = 1500
PALETTE_FRAMES = 8
PALETTE_COLOURS = 96
"""Enough for flat drawings; a palette with room to spare lets unchanged pixels be transparent."""
SUBGOAL_COLOUR = (255, 140, 0)
HALF_BLOCK = "▀"


def fitting_cell(domain: Domain, size: int = PICTURE_SIZE) -> int:
    """A cell size in pixels that makes a picture about `size` pixels high or wide."""
    return max(8, size // max(domain.spec.shape))


def plan_frames(
    domain: Domain,
    state: Grid,
    actions: Actions,
    cell: int | None = None,
    subgoals: Collection[int] = (),
) -> list[Image]:
    """One picture `[H * cell, W * cell, 3]` per state of a plan, start first.

    The states at steps `subgoals` get a coloured frame.
    """
    cell = fitting_cell(domain) if cell is None else cell
    frames = [domain.render(frame, cell) for frame in replay(domain, state, actions)]
    edge = max(2, cell // 8)
    for step in subgoals:
        frames[step] = frames[step].copy()
        for side in (np.s_[:edge], np.s_[-edge:], np.s_[:, :edge], np.s_[:, -edge:]):
            frames[step][side] = SUBGOAL_COLOUR
    return frames


def save_png(image: Image, path: Path) -> None:
    """Writes an RGB picture as PNG, atomically."""
    require_suffix(path, ".png")
    with replacing(path) as temporary:
        PillowImage.fromarray(image).save(temporary, format="PNG", optimize=True)


def save_gif(
    frames: Sequence[Image], path: Path, frame_milliseconds: int = FRAME_MILLISECONDS
) -> None:
    """Writes RGB pictures as a looping GIF that holds the last one, atomically."""
    require_suffix(path, ".gif")
    content = gif_bytes(frames, frame_milliseconds)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def png_bytes(image: Image) -> bytes:
    """An RGB picture as PNG."""
    target = io.BytesIO()
    PillowImage.fromarray(image).save(target, format="PNG")
    return target.getvalue()


def gif_bytes(frames: Sequence[Image], frame_milliseconds: int = FRAME_MILLISECONDS) -> bytes:
    """RGB pictures as a looping GIF that holds the last one."""
    if not frames:
        raise ConfigError("An animation needs at least one frame.")
    palette = _shared_palette(frames)
    pictures = [
        PillowImage.fromarray(frame).quantize(palette=palette, dither=PillowImage.Dither.NONE)
        for frame in frames
    ]
    durations = [frame_milliseconds] * (len(frames) - 1) + [LAST_FRAME_MILLISECONDS]
    target = io.BytesIO()
    pictures[0].save(
        target,
        format="GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=durations,
        loop=0,
        optimize=True,  # unchanged pixels become transparent
    )
    return target.getvalue()


def ansi(domain: Domain, state: Grid, max_columns: int = 60, max_rows: int = 60) -> Text:
    """The rendered state as coloured half blocks: one character is two pixels high.

    Works for every domain, since it uses only the picture: a cell has as many pixels as fit into
    `max_columns` × `max_rows` characters, but 2 × 2 at least and 12 × 12 at most.
    """
    height, width = state.shape
    room = min(max_columns // width, 2 * max_rows // height)
    pixels = int(np.clip(room // 2 * 2, 2, 12))
    colours = domain.render(state, pixels)
    text = Text()
    for top, bottom in zip(colours[0::2], colours[1::2], strict=True):
        for above, below in zip(top.tolist(), bottom.tolist(), strict=True):
            style = Style(color=_hexadecimal(above), bgcolor=_hexadecimal(below))
            text.append(HALF_BLOCK, style)
        text.append("\n")
    text.right_crop(1)
    return text


def _hexadecimal(colour: Sequence[int]) -> str:
    red, green, blue = colour
    return f"#{red:02x}{green:02x}{blue:02x}"


def _shared_palette(frames: Sequence[Image]) -> PillowImage.Image:
    """One palette for all frames (from a sample of them), so that colours do not flicker."""
    chosen = np.linspace(0, len(frames) - 1, min(len(frames), PALETTE_FRAMES)).astype(int)
    strip = np.concatenate([frames[i] for i in chosen])
    return PillowImage.fromarray(strip).quantize(PALETTE_COLOURS, dither=PillowImage.Dither.NONE)


def require_suffix(path: Path, suffix: str) -> None:
    """Rejects a file name with another ending."""
    if path.suffix.lower() != suffix:
        raise ConfigError(f"'{path.name}' must end in {suffix}.")
