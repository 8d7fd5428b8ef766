"""A model of the toy world without a network: its graphs are plain functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from hips import domains
from hips.domains import Domain
from hips.methods.wiring import SUBGOAL_PARTS
from hips.models.card import Card, PartEntry, describe_spec
from hips.models.runtime import GraphRuntime
from tests.toys import LineWorld

LENGTH = 8
Array = np.ndarray
Graph = Callable[[Mapping[str, Array]], list[Any]]


@dataclasses.dataclass
class TableModel:
    """π_SG from a table by the agent's place; code k jumps k + 1 cells to the right.

    Attributes:
        chances: `[places, K]`.
        unreachable: the code that decodes to what cannot be reached, or None.
        rows: how many rows each graph has computed.
    """

    chances: Array
    unreachable: int | None = None
    rows: dict[str, int] = dataclasses.field(default_factory=dict)

    def runtime(self, threads: int = 1) -> GraphRuntime:
        graphs: dict[str, Graph] = {
            "prior": self._prior,
            "decoder": self._decoder,
            "policy": self._policy,
            "heuristic": self._heuristic,
        }
        return GraphRuntime(graphs, threads)

    def _count(self, graph: str, count: int) -> None:
        self.rows[graph] = self.rows.get(graph, 0) + count

    def _prior(self, inputs: Mapping[str, Array]) -> list[Any]:
        states = inputs["states"]
        self._count("prior", len(states))
        places = states[:, 0].argmax(axis=1) % len(self.chances)
        actions = np.full((len(states), 2), np.log(0.5), dtype=np.float32)
        return [np.log(self.chances[places]).astype(np.float32), actions]

    def _decoder(self, inputs: Mapping[str, Array]) -> list[Any]:
        states, parents, codes = inputs["states"], inputs["parents"], inputs["codes"]
        self._count("decoder", len(codes))
        scores = np.zeros((len(codes), 1, LENGTH, 3), dtype=np.float32)
        places = np.minimum(states[parents, 0].argmax(axis=1) + codes + 1, LENGTH - 1)
        scores[:, 0, :, 0] = 1.0
        scores[np.arange(len(codes)), 0, places, 1] = 2.0
        if self.unreachable is not None:
            scores[codes == self.unreachable, 0, :, 2] = 3.0
        return [scores]

    def _policy(self, inputs: Mapping[str, Array]) -> list[Any]:
        count = len(inputs["states"])
        self._count("policy", count)
        right = np.tile(np.array([0.04, 0.96], dtype=np.float32), (count, 4, 1))
        return [np.log(right), np.ones(count, dtype=np.float32)]

    def _heuristic(self, inputs: Mapping[str, Array]) -> list[Any]:
        states = inputs["states"]
        self._count("heuristic", len(states))
        return [(LENGTH - 1 - states[:, 0].argmax(axis=1)).astype(np.float32)]


@dataclasses.dataclass(frozen=True)
class FakeBundle:
    """What a planner needs of a model on disk."""

    model: TableModel
    card: Card
    domain: Domain

    def runtime(self, precision: str = "fp32", threads: int = 1) -> GraphRuntime:
        return self.model.runtime(threads)


def line_card(
    trained_horizon: int = 3, parts: tuple[str, ...] = SUBGOAL_PARTS, **settings: Any
) -> Card:
    """The card of a model of the toy world, with search settings that suit it."""
    return Card(
        domain="line_world",
        parameters=LineWorld().parameters(),
        spec=describe_spec(LineWorld().spec),
        any_size=False,
        parts={name: PartEntry({}) for name in parts},
        configuration={"horizon": trained_horizon},
        settings=settings,
        files={"made.up": "0"},
    )


def install(
    monkeypatch: pytest.MonkeyPatch, model: TableModel, card: Card | None = None
) -> FakeBundle:
    """Makes planners of the toy world find the model."""
    bundle = FakeBundle(model, card or line_card(), domains.create("line_world"))
    monkeypatch.setattr("hips.methods.planner.find_model", lambda *_: (bundle, ""))
    return bundle
