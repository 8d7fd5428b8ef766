"""The networks as functions of arrays, and how ONNX Runtime runs them: no torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from hips.domains import Actions, Grids, Scores
from hips.errors import ModelError
from hips.models.rows import RowThreads

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


Precision = Literal["fp32", "int8"]
INT8_SUFFIX = ".int8.onnx"
GRAPHS = ("policy", "prior", "encoder", "decoder", "heuristic", "dynamics", "detector")


class Runtime(Protocol):
    """The networks as functions of arrays."""

    def policy(self, states: Grids, subgoals: Grids) -> tuple[Floats, Floats]:
        """Log π(a_1 … a_C | s, s_g), `[B, C, A]`, and the probability of getting there, `[B]`."""
        ...

    def prior(self, states: Grids) -> tuple[Floats, Floats]:
        """Log π_SG `[B, K]` and log π_BC `[B, A]`."""
        ...

    def decode(self, states: Grids, parents: Indices, codes: Indices) -> Scores:
        """Cell scores `[M, H, W, symbols]` of the subgoals `codes[m]` of `states[parents[m]]`."""
        ...

    def heuristic(self, states: Grids) -> Floats:
        """Expected remaining steps `[B]`."""
        ...

    def dynamics(self, states: Grids, actions: Actions) -> Grids:
        """Predicted next states `[B, H, W]`."""
        ...

    def detector(self, states: Grids) -> tuple[Floats, Floats, Floats]:
        """Queries `[B, E]`, keys `[B, E]` and the bias of each distance `[H]`."""
        ...

    def encode(self, states: Grids, subgoals: Grids) -> Indices:
        """The code of each step from a state to its subgoal, `[B]`."""
        ...


class ArrayFunction(Protocol):
    """One graph: named arrays in, a list of arrays out."""

    def __call__(self, inputs: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
        """The graph's outputs, in order."""
        ...


class Graph:
    """One ONNX graph; its session starts at the first call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # Rows are shared out among threads instead: see `hips.models.rows`.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(
                str(self.path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ModelError(f"{self.path}: not a usable ONNX graph ({error}).") from error

    def __call__(self, inputs: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
        """The graph's outputs, in order."""
        outputs: list[Any] = self._session.run(None, dict(inputs))
        return outputs


class GraphRuntime:
    """A `Runtime` over one function for each name in `GRAPHS`.

    Args:
        graphs: the functions.
        threads: how many of them may run at once, each with a part of the rows.
    """

    def __init__(self, graphs: Mapping[str, ArrayFunction], threads: int = 1) -> None:
        self._graphs = graphs
        self._threads = RowThreads(threads)
        self.calls = dict.fromkeys(graphs, 0)
        """How often each graph was asked."""

    def policy(self, states: Grids, subgoals: Grids) -> tuple[Floats, Floats]:
        """Log π(a_1 … a_C | s, s_g), `[B, C, A]`, and the probability of getting there, `[B]`."""
        actions, reachable = self._rowwise("policy", states=states, subgoals=subgoals)
        return actions, reachable

    def prior(self, states: Grids) -> tuple[Floats, Floats]:
        """Log π_SG `[B, K]` and log π_BC `[B, A]`."""
        codes, actions = self._rowwise("prior", states=states)
        return codes, actions

    def decode(self, states: Grids, parents: Indices, codes: Indices) -> Scores:
        """Cell scores `[M, H, W, symbols]` of the subgoals `codes[m]` of `states[parents[m]]`.

        Each thread looks only at the states that its rows need: few, if parents ascend.
        """

        def part(rows: slice) -> Scores:
            own = parents[rows]
            first, last = own.min(initial=len(states)), own.max(initial=-1)
            few = states[first : last + 1]
            scores: Scores = self._graphs["decoder"](
                {"states": few, "parents": own - first, "codes": codes[rows]}
            )[0]
            return scores

        self.calls["decoder"] += 1
        return _joined(self._threads.run(part, len(codes)))

    def heuristic(self, states: Grids) -> Floats:
        """Expected remaining steps `[B]`."""
        distances: Floats = self._rowwise("heuristic", states=states)[0]
        return distances

    def dynamics(self, states: Grids, actions: Actions) -> Grids:
        """Predicted next states `[B, H, W]`."""
        following: Grids = self._rowwise("dynamics", states=states, actions=actions)[0]
        return following

    def detector(self, states: Grids) -> tuple[Floats, Floats, Floats]:
        """Queries `[B, E]`, keys `[B, E]` and the bias of each distance `[H]`."""
        self.calls["detector"] += 1
        queries, keys, bias = self._graphs["detector"]({"states": states})
        return queries, keys, bias

    def encode(self, states: Grids, subgoals: Grids) -> Indices:
        """The code of each step from a state to its subgoal, `[B]`."""
        codes: Indices = self._rowwise("encoder", states=states, subgoals=subgoals)[0]
        return codes

    def _rowwise(self, name: str, **inputs: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The outputs of a graph whose inputs and outputs all have one row for each state."""
        graph = self._graphs[name]

        def part(rows: slice) -> list[npt.NDArray[Any]]:
            return graph({key: value[rows] for key, value in inputs.items()})

        self.calls[name] += 1
        parts = self._threads.run(part, len(inputs["states"]))
        return [_joined(pieces) for pieces in zip(*parts, strict=True)]


def _joined(pieces: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


class OnnxRuntime(GraphRuntime):
    """The ONNX graphs of one bundle folder.

    Args:
        folder: the bundle.
        files: names of the files that belong to it; others in the folder are left alone.
        threads: how many cores share the rows of a call; 1 is best as soon as anything else runs.
        precision: `int8` takes the quantised graphs where the bundle has them.
    """

    def __init__(
        self,
        folder: Path,
        files: Collection[str],
        threads: int = 1,
        precision: Precision = "fp32",
    ) -> None:
        names = {graph: _graph_file(graph, files, precision) for graph in GRAPHS}
        graphs = {graph: Graph(folder / name) for graph, name in names.items()}
        super().__init__(graphs, threads)


def _graph_file(graph: str, files: Collection[str], precision: Precision) -> str:
    quantised = f"{graph}{INT8_SUFFIX}"
    return quantised if precision == "int8" and quantised in files else f"{graph}.onnx"
