"""The networks without a codebook: detector, policy, prior + BC, heuristic, dynamics."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hips.models.networks.layers import CellScores, GridShape, Readout, SymbolPlanes, Trunk
from hips.models.networks.relations import CopiedSymbols, log_of_sum

LEAST_CHANCE = 1e-6
"""How sure a network can be of a dead end."""


class Detector(nn.Module):
    """q(s_j | s_i): where the next subgoal of a trajectory lies; with a value head.

    Every state of a trajectory is embedded once; pairs are scored by a product of embeddings and
    a bias for their distance.
    """

    def __init__(
        self, shape: GridShape, channels: int, blocks: int, horizon: int, width: int = 64
    ) -> None:
        super().__init__()
        self.horizon = horizon
        self.width = width
        self.planes = SymbolPlanes(shape)
        self.trunk = Trunk(shape, shape.planes, channels, blocks)
        self.readout = Readout(channels, 2 * width + 1)
        self.distance_bias = nn.Parameter(torch.zeros(horizon))

    def embed(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States `[M, H, W]` -> queries `[M, E]`, keys `[M, E]`, values `[M]`."""
        joint = self.readout(self.trunk(self.planes(states)))
        query, key, value = joint.split([self.width, self.width, 1], dim=1)
        return query, key, value.squeeze(1)

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Logits `[B, H]` of the next H states: queries `[B, E]`, their keys `[B, H, E]`."""
        product = (queries.unsqueeze(1) * keys).sum(dim=-1) / self.width**0.5
        return product + self.distance_bias[: keys.shape[1]]


class ReachPolicy(nn.Module):
    """π(a_1 … a_C | s, s_g): the next C actions towards a subgoal, all in one pass.

    A second head tells whether the policy will get there: many decoded subgoals are impossible.
    """

    def __init__(self, shape: GridShape, channels: int, blocks: int, chunk: int) -> None:
        super().__init__()
        self.chunk, self.num_actions = chunk, shape.num_actions
        self.planes = SymbolPlanes(shape)
        self.trunk = Trunk(shape, 2 * shape.planes, channels, blocks)
        self.readout = Readout(channels, chunk * shape.num_actions)
        self.reachable = Readout(channels, 1)

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """Log-probabilities `[B, C, A]` for states and subgoals `[B, H, W]`."""
        return self._actions(self._features(states, subgoals))

    def foresee(self, states: Tensor, subgoals: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities `[B, C, A]`, and the logits `[B]` of getting there."""
        features = self._features(states, subgoals)
        return self._actions(features), self.reachable(features).squeeze(1)

    def _features(self, states: Tensor, subgoals: Tensor) -> Tensor:
        planes = torch.cat([self.planes(states), self.planes(subgoals, states)], dim=1)
        features: Tensor = self.trunk(planes)
        return features

    def _actions(self, features: Tensor) -> Tensor:
        logits = self.readout(features).view(-1, self.chunk, self.num_actions)
        return functional.log_softmax(logits, dim=-1)


class Prior(nn.Module):
    """π_SG(e | s) and π_BC(a | s): two heads on one trunk (eq:pi)."""

    def __init__(
        self, shape: GridShape, channels: int, blocks: int, attention: int, num_codes: int
    ) -> None:
        super().__init__()
        self.planes = SymbolPlanes(shape)
        self.trunk = Trunk(shape, shape.planes, channels, blocks, attention, shape.same_symbols)
        self.codes = Readout(channels, num_codes)
        self.actions = Readout(channels, shape.num_actions)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of codes `[B, K]` and of actions `[B, A]`."""
        features = self.trunk(self.planes(states))
        return (
            functional.log_softmax(self.codes(features), dim=-1),
            functional.log_softmax(self.actions(features), dim=-1),
        )


class Heuristic(nn.Module):
    """h(s): a distribution over remaining steps; its mean, and more where there may be no way on.

    Dead ends are taught as the largest distance. Their mean would say "128 steps", which a search
    takes for a long way that is still worth a try. So a state that is more likely dead than alive
    also costs `max_distance` steps each time its chance to be alive falls by a factor e: it waits
    until the states with a way on are used up, but it is not lost.

    Attributes:
        centres: the distance of each bin, `[bins]`.
        deviation: of the bell around a distance that the network is taught.
        living_bins: how many of the first bins the bell of a dead end leaves empty.
    """

    centres: Tensor

    def __init__(
        self,
        shape: GridShape,
        channels: int,
        blocks: int,
        attention: int,
        max_distance: int,
        num_bins: int = 128,
    ) -> None:
        super().__init__()
        self.planes = SymbolPlanes(shape)
        self.trunk = Trunk(shape, shape.planes, channels, blocks, attention, shape.same_symbols)
        self.readout = Readout(channels, num_bins)
        self.max_distance = max_distance
        centres = torch.linspace(0.0, float(max_distance), num_bins)
        self.register_buffer("centres", centres, persistent=False)
        self.deviation = max(1.0, max_distance / (num_bins - 1))
        self.living_bins = int((centres < max_distance - 4 * self.deviation).sum())

    def logits(self, states: Tensor) -> Tensor:
        """Log-probabilities `[B, bins]` of the remaining distance."""
        return functional.log_softmax(self.readout(self.trunk(self.planes(states))), dim=-1)

    def forward(self, states: Tensor) -> Tensor:
        """Expected remaining low-level steps `[B]`, with the cost of likely dead ends."""
        chances = self.logits(states).exp()
        alive = chances[:, : self.living_bins].sum(dim=-1).clamp(LEAST_CHANCE, 0.5)
        return (chances * self.centres).sum(dim=-1) - self.max_distance * (2 * alive).log()


class Dynamics(nn.Module):
    """f(s, a): scores of the next state's cells, relative to the present ones.

    With `relations`, cells are also compared with that many places, and may copy any other cell.
    """

    def __init__(
        self, shape: GridShape, channels: int, blocks: int, attention: int, relations: int = 0
    ) -> None:
        super().__init__()
        self.planes = SymbolPlanes(shape)
        self.num_actions = shape.num_actions
        inputs = shape.planes + shape.num_actions + relations
        self.trunk = Trunk(shape, inputs, channels, blocks, attention)
        self.cells = CellScores(shape, channels)
        self.matches = shape.matches(relations)
        self.copied = CopiedSymbols(channels) if relations else None

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """Cell scores `[B, H, W, symbols]` after `actions` `[B]`."""
        planes = self.planes(states)
        chosen = functional.one_hot(actions, self.num_actions).to(planes.dtype)
        rows, columns = planes.shape[2], planes.shape[3]
        inputs = [planes, chosen[:, :, None, None].expand(-1, -1, rows, columns)]
        if self.matches is not None:
            inputs.append(self.matches(planes))
        features = self.trunk(torch.cat(inputs, dim=1))
        scores: Tensor = self.cells(features, states)
        if self.copied is None:
            return scores
        return log_of_sum(scores, self.copied(features, planes))
