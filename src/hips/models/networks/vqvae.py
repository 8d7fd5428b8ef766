"""The VQ-VAE over subgoals: encoder of (s, s_g), codebook, and decoder g(e, s).

The state trunk runs once per state; a code only modulates a short, narrow head (FiLM), so that
decoding all K codes of a state costs little more than encoding it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from vector_quantize_pytorch import VectorQuantize

from hips.models.networks.layers import CellScores, GridShape, Readout, SymbolPlanes, Trunk


class FilmLayer(nn.Module):
    """A 3×3 convolution whose channels a code scales and shifts."""

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


class SubgoalModel(nn.Module):
    """Encoder, codebook and decoder of subgoals.

    Codes live on the unit sphere (cosine similarity), which keeps the codebook in use. A code that
    is used less than `revive_below` times a batch, on average, is replaced by a sample's.

    A decoder that sees through the whole puzzle decodes the demonstrator's choice whatever the
    code, and nothing else where it errs. With `relations` it compares cells with that many places
    and looks no farther: it knows what is possible, and leaves to the prior what is good.
    """

    def __init__(
        self,
        shape: GridShape,
        channels: int,
        blocks: int,
        attention: int,
        num_codes: int,
        code_dimension: int,
        commitment: float,
        revive_below: float = 1.0,
        encoder_channels: int = 32,
        encoder_blocks: int = 2,
        head_channels: int = 32,
        head_layers: int = 3,
        changes: bool = False,
        scaled_codes: bool = False,
        relations: int = 0,
    ) -> None:
        super().__init__()
        self.changes = changes
        self.scale = code_dimension**0.5 if scaled_codes else 1.0
        self.planes = SymbolPlanes(shape)
        self.encoder = Trunk(shape, 2 * shape.planes, encoder_channels, encoder_blocks)
        self.to_code = Readout(encoder_channels, code_dimension)
        self.codebook = VectorQuantize(
            dim=code_dimension,
            codebook_size=num_codes,
            use_cosine_sim=True,
            decay=0.99,
            kmeans_init=True,
            kmeans_iters=20,
            threshold_ema_dead_code=revive_below,
            commitment_weight=commitment,
        )
        # Revived codes start well above the threshold: the next batches decide, not the first one.
        self.codebook._codebook.reset_cluster_size = max(1, round(10 * revive_below))
        self.matches = shape.matches(relations)
        looks_ahead = relations == 0
        self.trunk = Trunk(
            shape,
            shape.planes + relations * shape.downsample**2,
            channels,
            blocks,
            attention if looks_ahead else 0,
            shape.same_symbols and looks_ahead,
        )
        self.narrow = nn.Conv2d(channels, head_channels, 1)
        self.code_in = nn.Linear(code_dimension, head_channels)
        self.head = nn.ModuleList(
            FilmLayer(head_channels, code_dimension) for _ in range(head_layers)
        )
        self.cells = CellScores(shape, head_channels)

    def encode(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """Continuous codes on the unit sphere, `[B, D]`."""
        before, after = self.planes(states), self.planes(subgoals, states)
        pair = (
            [(before - after).relu(), (after - before).relu()] if self.changes else [before, after]
        )
        planes = torch.cat(pair, dim=1)
        return functional.normalize(self.to_code(self.encoder(planes)), dim=-1)

    def features(self, states: Tensor) -> Tensor:
        """What the decoder knows of a state, once per state: `[B, head channels, h, w]`."""
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
        return self.cells(inner, states)

    def quantise(self, codes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Straight-through quantised codes `[B, D]`, indices `[B]` and the commitment loss."""
        quantised, indices, loss = self.codebook(codes)
        return quantised, indices, loss.sum()

    @property
    def code_vectors(self) -> Tensor:
        """The codebook, `[K, D]`."""
        return self.codebook.codebook
