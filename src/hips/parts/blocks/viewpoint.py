"""Grids centred on an anchor: an agent's surroundings look the same everywhere."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Viewpoint(nn.Module):
    """Rolls grids so that the anchor, of which every state has one, is in the middle.

    Cells wrap around; `edges` marks those that did.
    """

    anchors: Tensor

    def __init__(self, anchors: tuple[int, ...]) -> None:
        super().__init__()
        symbols = torch.tensor(anchors, dtype=torch.uint8).view(1, 1, -1)
        self.register_buffer("anchors", symbols, persistent=False)

    def offsets(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Source rows `[B, H]` and columns `[B, W]` of the cells of rolled grids `[B, H, W]`.

        They are not wrapped: beyond the grid's edges they are negative or too large.
        """
        height, width = states.shape[1], states.shape[2]
        here = (states.flatten(1).unsqueeze(2) == self.anchors).any(dim=2)
        place = here.to(torch.int64).argmax(dim=1, keepdim=True)
        rows = torch.arange(height, device=states.device) - height // 2
        columns = torch.arange(width, device=states.device) - width // 2
        return rows + place // width, columns + place % width

    def edges(self, offsets: tuple[Tensor, Tensor]) -> Tensor:
        """Which rows, and which columns, lie beyond the grid's edges: `[B, 2, H, W]`."""
        rows, columns = (((o < 0) | (o >= o.shape[1])).float() for o in offsets)
        height, width = rows.shape[1], columns.shape[1]
        both = (rows[:, None, :, None], columns[:, None, None, :])
        return torch.cat([marks.expand(-1, -1, height, width) for marks in both], dim=1)

    def roll(self, grids: Tensor, offsets: tuple[Tensor, Tensor]) -> Tensor:
        """Grids `[B, H, W]` centred on the anchor."""
        height, width = grids.shape[1], grids.shape[2]
        cells = _cells(offsets[0] % height, offsets[1] % width)
        return grids.flatten(1).gather(1, cells).view(-1, height, width)

    def unroll(self, scores: Tensor, offsets: tuple[Tensor, Tensor]) -> Tensor:
        """Scores `[B, S, H, W]` of a rolled grid, rolled back."""
        symbols, height, width = scores.shape[1], scores.shape[2], scores.shape[3]
        rows = (torch.arange(height, device=scores.device) - offsets[0][:, :1]) % height
        columns = (torch.arange(width, device=scores.device) - offsets[1][:, :1]) % width
        cells = _cells(rows, columns).unsqueeze(1).expand(-1, symbols, -1)
        return scores.flatten(2).gather(2, cells).view(-1, symbols, height, width)


def _cells(rows: Tensor, columns: Tensor) -> Tensor:
    """Flat indices `[B, H·W]` of the cells in given rows `[B, H]` and columns `[B, W]`."""
    return (rows[:, :, None] * columns.shape[1] + columns[:, None, :]).flatten(1)
