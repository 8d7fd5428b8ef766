"""A generator of subgoals by single-cell edits: "set cell (i, j) to symbol v", until STOP.

The network sees the state and the partly edited subgoal; it fits any grid of symbols. Training
pairs a state with the one k steps later (or the last one): the differing cells in raster order,
then STOP.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.arrays import Grids, Ints
from hips.errors import ConfigError
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import IMPOSSIBLE, CellScores, GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import make_trunk
from hips.seeding import stream
from hips.training.batches import Batch, mean_metrics
from hips.training.corpus import Augmenter, Corpus
from hips.training.loop import Stage
from hips.training.schedule import Schedule

VALIDATION_SAMPLES = 4096


class EditNetwork(nn.Module):
    """Log-probabilities of the next edit, for one of several distances k.

    With several distances, the one asked for is an input of the first layer.
    """

    symbols: Tensor
    numbers: Tensor

    def __init__(self, shape: GridShape, trunk: TrunkConfig, num_distances: int = 1) -> None:
        super().__init__()
        self.planes = SymbolPlanes(shape)
        marks = num_distances if num_distances > 1 else 0
        self.trunk = make_trunk(shape, 2 * shape.planes + marks, trunk)
        self.cells = CellScores(shape, trunk.channels)
        # The usual bonus for the state's own symbols would favour edits that undo earlier ones.
        nn.init.zeros_(self.cells.head_start)
        self.stop = Readout(trunk.channels, 1)
        symbols = torch.arange(shape.num_symbols, dtype=torch.uint8)
        self.register_buffer("symbols", symbols, persistent=False)
        self.register_buffer("numbers", torch.arange(marks), persistent=False)

    def forward(self, states: Tensor, partials: Tensor, distances: Tensor | None = None) -> Tensor:
        """`[B, H · W · S + 1]`; the last entry is STOP, edits without effect are impossible."""
        planes = torch.cat([self.planes(states), self.planes(partials, states)], dim=1)
        if len(self.numbers) and distances is not None:
            marks = (distances.unsqueeze(1) == self.numbers).to(planes.dtype)
            marks = marks[:, :, None, None].expand(-1, -1, planes.shape[2], planes.shape[3])
            planes = torch.cat([planes, marks], dim=1)
        features = self.trunk(planes)
        scores = self.cells(features, states)
        same = partials.unsqueeze(-1) == self.symbols
        scores = torch.where(same, torch.full_like(scores, IMPOSSIBLE), scores)
        logits = torch.cat([scores.flatten(1), self.stop(features)], dim=1)
        return functional.log_softmax(logits, dim=1)


def edit_targets(
    states: Grids, subgoals: Grids, num_symbols: int, done: Ints
) -> tuple[Grids, Ints]:
    """Partial subgoals after `done` `[B]` edits in raster order, and the next edit `[B]`.

    The next edit after the last one is STOP, number H · W · S.
    """
    count = len(states)
    flat, wanted = states.reshape(count, -1), subgoals.reshape(count, -1)
    differing = flat != wanted
    rank = np.cumsum(differing, axis=1)
    partials = np.where(differing & (rank <= done[:, None]), wanted, flat)
    upcoming = differing & (rank == done[:, None] + 1)
    cell = upcoming.argmax(axis=1)
    symbol = wanted[np.arange(count), cell].astype(np.int64)
    stop = flat.shape[1] * num_symbols
    edits = np.where(upcoming.any(axis=1), cell * num_symbols + symbol, stop)
    return partials.reshape(states.shape), edits


class EditObjective(nn.Module):
    """Cross-entropy of the next edit."""

    def __init__(self, generator: EditNetwork) -> None:
        super().__init__()
        self.generator = generator

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for states, partial subgoals, distances and edits."""
        found = self.generator(batch["states"], batch["partials"], batch["distances"])
        loss = functional.nll_loss(found, batch["edits"])
        right = (found.argmax(dim=1) == batch["edits"]).float().mean()
        return loss, {"edit_accuracy": right}


class EditStage(Stage):
    """Learns the edits from a state to the one k steps later, for each distance k."""

    def __init__(
        self,
        name: str,
        schedule: Schedule,
        generator: nn.Module,
        distances: tuple[int, ...],
        train: Corpus,
        valid: Corpus,
    ) -> None:
        longest = int(np.diff(train.offsets).max(initial=1)) - 1
        if max(distances) > longest:
            raise ConfigError(
                f"{name}: subgoals {max(distances)} steps ahead are beyond every demonstration; "
                f"the longest has {longest} steps. Choose a smaller distance."
            )
        self.schedule, self.distances = schedule, np.array(distances)
        self.objective = EditObjective(cast(EditNetwork, generator))
        self.train, self.augment = train, Augmenter.of(train)
        rng = stream(0, name, "validation")
        self.validation = self._draw(valid, None, rng, VALIDATION_SAMPLES)

    def _draw(
        self, corpus: Corpus, augment: Augmenter | None, rng: np.random.Generator, size: int
    ) -> Batch:
        starts = rng.choice(corpus.decisions, size=size)
        which = rng.integers(len(self.distances), size=size)
        ends = np.minimum(starts + self.distances[which], corpus.last[starts])
        grids = [corpus.states[starts], corpus.states[ends]]
        if augment is not None:
            grids, _ = augment(rng, grids)
        states, subgoals = grids
        total = (states != subgoals).sum(axis=(1, 2))
        done = (rng.random(size) * (total + 1)).astype(np.int64)
        symbols = corpus.domain.spec.num_symbols
        partials, edits = edit_targets(states, subgoals, symbols, done)
        return {
            "states": torch.from_numpy(states),
            "partials": torch.from_numpy(partials),
            "distances": torch.from_numpy(which),
            "edits": torch.from_numpy(edits),
        }

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Random edits of the training split."""
        return self._draw(self.train, self.augment, rng, size)

    def validate(self) -> dict[str, float]:
        """Cross-entropy and accuracy of edits on held-out demonstrations."""
        return mean_metrics(self.objective, self.validation)
