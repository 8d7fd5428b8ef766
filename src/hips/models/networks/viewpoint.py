"""Grids seen from where something stands: an agent's surroundings look the same everywhere."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Viewpoint(nn.Module):
    """Rolls grids so that the anchor, of which every state has one, comes to their middle.

    What leaves on one side comes in on the other; `edges` tells which cells did.
    """

    anchors: Tensor

    def __init__(self, height: int, width: int, anchors: tuple[int, ...]) -> None:
        super().__init__()
        self.height, self.width = height, width
        self.register_buffer(
            "anchors", torch.tensor(anchors, dtype=torch.uint8).view(1, 1, -1), persistent=False
        )

    def offsets(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and columns `[B, H]`, `[B, W]` that the cells of a rolled `[B, H, W]` come from.

        They are those of an endless plane: beyond the grid's edges they are negative or too large.
        """
        here = (states.flatten(1).unsqueeze(2) == self.anchors).any(dim=2)
        place = here.to(torch.int64).argmax(dim=1, keepdim=True)
        rows = torch.arange(self.height, device=states.device) - self.height // 2
        columns = torch.arange(self.width, device=states.device) - self.width // 2
        return rows + place // self.width, columns + place % self.width

    def edges(self, offsets: tuple[Tensor, Tensor]) -> Tensor:
        """Which rows, and which columns, lie beyond the grid's edges: `[B, 2, H, W]`."""
        rows, columns = offsets
        beyond_rows = ((rows < 0) | (rows >= self.height)).float()[:, None, :, None]
        beyond_columns = ((columns < 0) | (columns >= self.width)).float()[:, None, None, :]
        return torch.cat(
            [
                beyond_rows.expand(-1, -1, self.height, self.width),
                beyond_columns.expand(-1, -1, self.height, self.width),
            ],
            dim=1,
        )

    def roll(self, grids: Tensor, offsets: tuple[Tensor, Tensor]) -> Tensor:
        """`[B, H, W]` seen from the anchor."""
        rows, columns = offsets[0] % self.height, offsets[1] % self.width
        cells = (rows[:, :, None] * self.width + columns[:, None, :]).flatten(1)
        return grids.flatten(1).gather(1, cells).view(-1, self.height, self.width)

    def unroll(self, scores: Tensor, offsets: tuple[Tensor, Tensor]) -> Tensor:
        """Scores `[B, S, H, W]` of a rolled grid, back in their places."""
        rows = (torch.arange(self.height, device=scores.device) - offsets[0][:, :1]) % self.height
        columns = (torch.arange(self.width, device=scores.device) - offsets[1][:, :1]) % self.width
        cells = (rows[:, :, None] * self.width + columns[:, None, :]).flatten(1)
        batch, symbols = scores.shape[0], scores.shape[1]
        flat = scores.flatten(2).gather(2, cells[:, None, :].expand(-1, symbols, -1))
        return flat.view(batch, symbols, self.height, self.width)

