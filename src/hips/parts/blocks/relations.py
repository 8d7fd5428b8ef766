"""Relations between distant cells, for domains where one cell affects another."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SHARPNESS = 10.0
"""Learning-rate factor of places relative to other weights."""
RARE = -1.0
"""Initial score of copying a cell: below that of no change, but high enough to be learned."""
SMALLEST = 1e-9


def log_of_sum(first: Tensor, second: Tensor) -> Tensor:
    """log(exp(first) + exp(second)); ONNX has no operator for it."""
    return torch.maximum(first, second) + (1.0 + (first - second).abs().neg().exp()).log()


def _cells_by_symbol(planes: Tensor, symbols: int, parts: int) -> Tensor:
    """Which cells have each symbol, `[B, symbols, parts · h · w]`; `parts` cells per fold."""
    return planes[:, : symbols * parts].reshape(planes.shape[0], symbols, -1)


class Matches(nn.Module):
    """Which cells have the same symbol as a learned place.

    Convolutions are local and attention mixes features; either would have to learn the *equality*
    of two symbols for each symbol separately.
    """

    def __init__(self, places: int, symbols: int, cells: int) -> None:
        super().__init__()
        self.symbols = symbols
        self.places = nn.Parameter(torch.zeros(places, cells))

    def forward(self, planes: Tensor) -> Tensor:
        """Compares every cell with every place, folded or not.

        Planes `[B, symbols · fold² + …, h, w]` -> `[B, places · fold², h, w]`.
        """
        batch, _, rows, columns = planes.shape
        cells = _cells_by_symbol(planes, self.symbols, self.places.shape[1] // (rows * columns))
        wanted = torch.matmul(cells, (SHARPNESS * self.places).T)
        return torch.matmul(wanted.transpose(1, 2), cells).view(batch, -1, rows, columns)


class CopiedSymbols(nn.Module):
    """Scores of symbols copied from any other cell, as pointer networks copy words.

    A cell's score of a symbol is the log of the total weight of all cells that have it. The
    gradient is thus shared among the cells that would have been right.
    """

    def __init__(self, channels: int, width: int = 32) -> None:
        super().__init__()
        self.query = nn.Conv2d(channels, width, 1)
        self.key = nn.Conv2d(channels, width, 1)
        self.takes = nn.Conv2d(channels, 1, 1)
        self.gives = nn.Conv2d(channels, 1, 1)
        self.base = nn.Parameter(torch.tensor(RARE))
        self.scale = width**-0.5

    def forward(self, features: Tensor, planes: Tensor) -> Tensor:
        """Features `[B, C, h, w]` and symbols `[B, S, h, w]` -> scores `[B, h, w, S]`."""
        query, key = self.query(features).flatten(2), self.key(features).flatten(2)
        weights = torch.matmul(query.transpose(1, 2), key) * self.scale
        weights = weights + self.takes(features).flatten(2).transpose(1, 2)
        weights = weights + self.gives(features).flatten(2) + self.base
        largest = weights.amax(dim=2, keepdim=True).detach()
        summed = torch.matmul((weights - largest).exp(), planes.flatten(2).transpose(1, 2))
        scores = (summed + SMALLEST).log() + largest
        batch, _, rows, columns = planes.shape
        return scores.view(batch, rows, columns, -1)


class SameSymbols(nn.Module):
    """Exchanges features between cells with the same symbol.

    One hop of a relation such as key and lock, for any number of cells at any distance. A cell
    receives the mean of the *others*, and zero if it is the only one.
    """

    def __init__(self, channels: int, symbols: int, fold: int) -> None:
        super().__init__()
        self.symbols, self.parts = symbols, fold**2
        self.width = channels // 2
        self.norm = nn.LayerNorm(channels)
        self.say = nn.Linear(channels, self.parts * self.width)
        self.hear = nn.Linear(self.parts * self.width, channels)

    def forward(self, features: Tensor, planes: Tensor) -> Tensor:
        """Features `[B, C, h, w]`; folded planes `[B, symbols · fold² + …, h, w]`."""
        batch, channels, rows, columns = features.shape
        shown = _cells_by_symbol(planes, self.symbols, self.parts)
        cells = features.flatten(2).transpose(1, 2)
        said = self.say(self.norm(cells)).view(batch, rows * columns, self.parts, self.width)
        said = said.transpose(1, 2).reshape(batch, -1, self.width)
        at_cells = shown.transpose(1, 2)
        own = said * at_cells.sum(dim=2, keepdim=True)
        others = torch.matmul(at_cells, torch.matmul(shown, said)) - own
        number = torch.matmul(at_cells, shown.sum(dim=2, keepdim=True))
        heard = others / (number - 1.0).clamp(min=1.0)
        heard = heard.view(batch, self.parts, rows * columns, self.width).transpose(1, 2)
        mixed = self.hear(heard.reshape(batch, rows * columns, -1))
        return features + mixed.transpose(1, 2).reshape(batch, channels, rows, columns)
