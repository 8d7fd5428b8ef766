"""The networks as functions of arrays, and how ONNX Runtime runs them: no torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from hips.domains import Actions, Grids, Scores
from hips.errors import ModelError

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]


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

    calls: int
    """How often it ran."""

    def __call__(self, inputs: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
        """The graph's outputs, in order."""
        ...


class Graph:
    """One ONNX graph; its session starts at the first call."""

    def __init__(self, path: Path, threads: int) -> None:
        self.path, self.threads = path, threads
        self.calls = 0

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Spinning threads would slow down whatever else runs on a small machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            return onnxruntime.InferenceSession(
                str(self.path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ModelError(f"{self.path}: not a usable ONNX graph ({error}).") from error

    def __call__(self, inputs: Mapping[str, npt.NDArray[Any]]) -> list[Any]:
        """The graph's outputs, in order."""
        self.calls += 1
        outputs: list[Any] = self._session.run(None, dict(inputs))
        return outputs


class GraphRuntime:
    """A `Runtime` over one function for each name in `GRAPHS`."""

    def __init__(self, graphs: Mapping[str, ArrayFunction]) -> None:
        self._graphs = graphs

    @property
    def calls(self) -> dict[str, int]:
        """How often each graph ran."""
        return {name: graph.calls for name, graph in self._graphs.items()}

    def policy(self, states: Grids, subgoals: Grids) -> tuple[Floats, Floats]:
        """Log π(a_1 … a_C | s, s_g), `[B, C, A]`, and the probability of getting there, `[B]`."""
        actions, reachable = self._graphs["policy"]({"states": states, "subgoals": subgoals})
        return actions, reachable

    def prior(self, states: Grids) -> tuple[Floats, Floats]:
        """Log π_SG `[B, K]` and log π_BC `[B, A]`."""
        codes, actions = self._graphs["prior"]({"states": states})
        return codes, actions

    def decode(self, states: Grids, parents: Indices, codes: Indices) -> Scores:
        """Cell scores `[M, H, W, symbols]` of the subgoals `codes[m]` of `states[parents[m]]`."""
        decoder = self._graphs["decoder"]
        scores: Scores = decoder({"states": states, "parents": parents, "codes": codes})[0]
        return scores

    def heuristic(self, states: Grids) -> Floats:
        """Expected remaining steps `[B]`."""
        distances: Floats = self._graphs["heuristic"]({"states": states})[0]
        return distances

    def dynamics(self, states: Grids, actions: Actions) -> Grids:
        """Predicted next states `[B, H, W]`."""
        following: Grids = self._graphs["dynamics"]({"states": states, "actions": actions})[0]
        return following

    def detector(self, states: Grids) -> tuple[Floats, Floats, Floats]:
        """Queries `[B, E]`, keys `[B, E]` and the bias of each distance `[H]`."""
        queries, keys, bias = self._graphs["detector"]({"states": states})
        return queries, keys, bias

    def encode(self, states: Grids, subgoals: Grids) -> Indices:
        """The code of each step from a state to its subgoal, `[B]`."""
        codes: Indices = self._graphs["encoder"]({"states": states, "subgoals": subgoals})[0]
        return codes


class OnnxRuntime(GraphRuntime):
    """The ONNX graphs of one bundle folder.

    Args:
        folder: the bundle.
        files: names of the files that belong to it; others in the folder are left alone.
        threads: intra-operation threads; 1 is best as soon as anything else runs.
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
        super().__init__({graph: Graph(folder / name, threads) for graph, name in names.items()})


def _graph_file(graph: str, files: Collection[str], precision: Precision) -> str:
    quantised = f"{graph}{INT8_SUFFIX}"
    return quantised if precision == "int8" and quantised in files else f"{graph}.onnx"
