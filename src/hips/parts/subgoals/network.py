"""The VQ-VAE over subgoals: encoder of (s, s_g), codebook, and decoder g(e, s).

The state trunk runs once per state; a code only modulates a short, narrow head (FiLM), so decoding
all K codes of a state costs little more than encoding it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional
from vector_quantize_pytorch import VectorQuantize

from hips.domains.base import GridSpec
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape, Readout, SymbolPlanes
from hips.parts.blocks.mixing import (
    MixingBlock,
    make_cell_scores,
    make_pair_trunk,
    make_trunk,
)
from hips.parts.subgoals.config import SubgoalConfig


class FilmLayer(nn.Module):
    """A 3×3 convolution whose channels are scaled and shifted by a code."""

    def __init__(self, channels: int, code_dimension: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.film = nn.Linear(code_dimension, 2 * channels)

    def forward(self, features: Tensor, codes: Tensor) -> Tensor:
        """`[M, C, h, w]` modulated by `[M, D]`."""
        scale, shift = self.film(codes)[:, :, None, None].chunk(2, dim=1)
        inner = self.norm(self.convolution(features)) * (1.0 + scale) + shift
        return features + functional.relu(inner)


class SubgoalNetwork(nn.Module):
    """Encoder, codebook and decoder of subgoals.

    Codes live on the unit sphere (cosine similarity), which keeps the codebook in use.

    A decoder that understands the whole puzzle decodes the demonstrator's choice for every code,
    and offers no alternative where it errs. With `relations` it only compares cells with that many
    places: it learns what is possible and leaves the choice to the prior.
    """

    def __init__(self, shape: GridShape, config: SubgoalConfig) -> None:
        super().__init__()
        shape.check_relations(config.relations)
        trunk, dimension = config.trunk, config.code_dimension
        self.changes = config.changes
        self.scale = dimension**0.5 if config.scaled_codes else 1.0
        self.planes = SymbolPlanes(shape)
        self.encoder = make_pair_trunk(shape, _encoder(config))
        self.to_code = Readout(config.encoder_channels, dimension)
        self.codebook = _codebook(config)
        self.matches = shape.matches(config.relations)
        self.trunk = make_trunk(
            shape,
            shape.planes + config.relations * shape.downsample**2,
            _decoder(config),
        )
        self.narrow = nn.Conv2d(trunk.channels, config.head_channels, 1)
        self.code_in = nn.Linear(dimension, config.head_channels)
        self.head = nn.ModuleList(_layer(shape, config) for _ in range(config.head_layers))
        self.cells = make_cell_scores(shape, trunk, config.head_channels)

    def encode(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """Continuous codes on the unit sphere, `[B, D]`."""
        before, after = self.planes(states), self.planes(subgoals, states)
        pair = (
            [(before - after).relu(), (after - before).relu()] if self.changes else [before, after]
        )
        planes = torch.cat(pair, dim=1)
        return functional.normalize(self.to_code(self.encoder(planes)), dim=-1)

    def features(self, states: Tensor) -> Tensor:
        """The decoder's features of a state, once per state: `[B, head channels, h, w]`."""
        planes = self.planes(states)
        if self.matches is not None:
            planes = torch.cat([planes, self.matches(planes)], dim=1)
        return self.narrow(self.trunk(planes))

    def decode(self, features: Tensor, codes: Tensor, states: Tensor) -> Tensor:
        """Cell scores `[M, H, W, symbols]` of g(e, s) for codes `[M, D]`."""
        codes = codes * self.scale
        inner = functional.relu(features + self.code_in(codes)[:, :, None, None])
        for layer in self.head:
            inner = layer(inner, codes)
        scores: Tensor = self.cells(inner, states)
        return scores

    def quantise(self, codes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Straight-through quantised codes `[B, D]`, indices `[B]` and the commitment loss."""
        quantised, indices, loss = self.codebook(codes)
        return quantised, indices, loss.sum()

    @property
    def code_vectors(self) -> Tensor:
        """The codebook, `[K, D]`."""
        return self.codebook.codebook


def _decoder(config: SubgoalConfig) -> TrunkConfig:
    """The trunk of the decoder, which may see less than the whole state."""
    own = config.trunk
    return own if config.relations == 0 else replace(own, attention=0, same_symbols=False)


def _encoder(config: SubgoalConfig) -> TrunkConfig:
    """The trunk of the encoder: of the same kind as the decoder's, but smaller."""
    own = config.trunk
    return TrunkConfig(
        config.encoder_channels, config.encoder_blocks, mixing=own.mixing, hidden=own.hidden
    )


def _layer(shape: GridShape, config: SubgoalConfig) -> nn.Module:
    """One layer of the head, modulated by a code."""
    channels, dimension = config.head_channels, config.code_dimension
    if not config.trunk.mixing:
        return FilmLayer(channels, dimension)
    return MixingBlock(channels * math.prod(shape.cells), config.trunk.hidden, dimension)


def _codebook(config: SubgoalConfig) -> VectorQuantize:
    """The codebook; rarely used codes are replaced by samples."""
    codebook = VectorQuantize(
        dim=config.code_dimension,
        codebook_size=config.num_codes,
        use_cosine_sim=True,
        decay=0.99,
        kmeans_init=True,
        kmeans_iters=20,
        threshold_ema_dead_code=config.revive_below,
        commitment_weight=config.commitment,
    )
    # Replaced codes start well above the threshold, so that they survive more than one batch.
    codebook._codebook.reset_cluster_size = max(1, round(10 * config.revive_below))
    return codebook


class DecoderGraph(nn.Module):
    """g(e, s): the trunk once per state, then a short head per code."""

    codes: Tensor

    def __init__(self, model: SubgoalNetwork) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("codes", model.code_vectors.detach().clone())

    def forward(self, states: Tensor, parents: Tensor, codes: Tensor) -> Tensor:
        """Cell scores `[M, H, W, symbols]`."""
        features = self.model.features(states)
        return self.model.decode(features[parents], self.codes[codes], states[parents])


class EncoderGraph(nn.Module):
    """The code of a state's subgoal."""

    codes: Tensor

    def __init__(self, model: SubgoalNetwork) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("codes", functional.normalize(model.code_vectors.detach(), dim=-1))

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """The nearest code's index `[B]`."""
        return (self.model.encode(states, subgoals) @ self.codes.T).argmax(dim=-1)


def build(spec: GridSpec, config: SubgoalConfig, horizon: int) -> SubgoalNetwork:
    """The network of a configuration."""
    return SubgoalNetwork(GridShape.of(spec, config.trunk), config)
