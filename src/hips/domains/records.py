"""Records that domains exchange with the rest of the package: levels, examples and macros."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hips.arrays import Grid, Grids, Ints


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a file.

    Attributes:
        grid: the start state `[H, W]`.
        title: its name in the file; empty without one.
        note: a remark for the reader, e.g. that coordinates were rounded.
    """

    grid: Grid
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A level that is unlike those that the domain samples.

    What was learned from sampled levels fits it badly, so methods differ on it.

    Attributes:
        text: the level in the domain's format.
        about: a sentence for people: what is special about it.
    """

    text: str
    about: str


@dataclass(frozen=True, slots=True)
class Macros:
    """Sequences of actions that a domain suggests.

    Attributes:
        parents: `[M]`, row of the state that each starts from, in order.
        actions: `[M, L]`, padded with zeros.
        lengths: `[M]`, number of actions, at least 1.
        states: `[M, H, W]`, where they lead.
    """

    parents: Ints
    actions: npt.NDArray[np.uint8]
    lengths: Ints
    states: Grids
