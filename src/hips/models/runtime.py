"""The graphs of a model as functions of arrays, without torch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from hips.errors import ModelError
from hips.models.row_threads import RowThreads

T = TypeVar("T", bound=np.generic)
Piece = TypeVar("Piece")
Array = npt.NDArray[Any]

Precision = Literal["fp32", "int8"]
Shape: TypeAlias = tuple[int | None, ...]
"""The shape of one row of an output; None for any size."""


class ArrayFunction(Protocol):
    """One graph: named arrays in, a list of arrays out."""

    def __call__(self, inputs: Mapping[str, Array]) -> list[Any]:
        """The graph's outputs, in order."""
        ...


class OnnxGraph:
    """One ONNX graph, loaded once, at the first call; thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._session: Any = None
        self._lock = threading.Lock()

    def __call__(self, inputs: Mapping[str, Array]) -> list[Any]:
        """The graph's outputs, in order."""
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = self._load()
        try:
            outputs: list[Any] = self._session.run(None, dict(inputs))
        except MemoryError:
            raise
        except Exception as error:  # ONNX Runtime's own types
            raise ModelError(f"{self.path}: the graph does not suit its use ({error}).") from error
        return outputs

    def _load(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # Threads share the rows instead: see `hips.models.row_threads`.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(
                str(self.path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise ModelError(f"{self.path}: not a usable ONNX graph ({error}).") from error


class GraphRuntime:
    """The graphs of a model by name; thread-safe.

    Args:
        graphs: the graphs as functions.
        threads: number of threads that share the rows of a call.
    """

    def __init__(self, graphs: Mapping[str, ArrayFunction], threads: int = 1) -> None:
        self._graphs = graphs
        self._threads = RowThreads(threads)

    def __contains__(self, graph: str) -> bool:
        return graph in self._graphs

    def call(self, graph: str, inputs: Mapping[str, Array]) -> list[Any]:
        """The outputs of a graph, in order."""
        if graph not in self._graphs:
            available = ", ".join(self._graphs) or "none"
            raise ModelError(f"The model has no graph '{graph}'. It has: {available}.")
        return self._graphs[graph](inputs)

    def rowwise(
        self, graph: str, shapes: Sequence[Shape] | None = None, /, **inputs: Array
    ) -> list[Array]:
        """The outputs of a graph whose inputs and outputs all have one row per state.

        Args:
            graph: its name.
            shapes: the shape that a row of each output must have; None accepts all.
            **inputs: arrays of equal length.

        Raises:
            ModelError: there is no such graph, or it is not what its name says.
        """

        def part(rows: slice) -> list[Array]:
            return self.call(graph, {key: value[rows] for key, value in inputs.items()})

        count = len(next(iter(inputs.values())))
        parts = self.share(part, count)
        outputs = [joined(pieces) for pieces in zip(*parts, strict=True)]
        if shapes is not None:
            check_outputs(graph, outputs, shapes, count)
        return outputs

    def share(self, function: Callable[[slice], Piece], count: int) -> list[Piece]:
        """Applies `function` to slices of `count` rows in parallel; results in order."""
        return self._threads.run(function, count)


def check_outputs(
    graph: str, outputs: Sequence[Array], shapes: Sequence[Shape], count: int
) -> None:
    """Rejects outputs other than one array of `count` rows for each of the `shapes`."""
    found = [output.shape for output in outputs]
    expected = [(count, *shape) for shape in shapes]
    if len(found) == len(expected) and all(map(_suits, found, expected)):
        return
    raise ModelError(
        f"The graph '{graph}' of the model returns {_listed(found)}, not {_listed(expected)}: it "
        "is not the graph that the card says. Train or install the model again."
    )


def _suits(found: Shape, expected: Shape) -> bool:
    return len(found) == len(expected) and all(
        wanted in (None, side) for side, wanted in zip(found, expected, strict=True)
    )


def _listed(shapes: Sequence[Shape]) -> str:
    sides = (" × ".join("any" if side is None else str(side) for side in one) for one in shapes)
    return " and ".join(f"[{text}]" for text in sides)


def joined(pieces: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
    """Concatenates arrays; a single one is not copied."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
