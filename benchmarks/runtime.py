"""What calling a graph costs, and whether other ways of calling ONNX Runtime are faster.

    python -m benchmarks runtime [--domain NAME …] [--graph NAME] [--rounds N]

Every variant computes the same rows in turn, so that other work on the machine disturbs all of
them alike; a cell is the median over rounds of its time divided by that of the runtime in use.
Variants whose outputs differ in a single bit are marked.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from hips import domains
from hips.models import bundle
from hips.models.runtime import OnnxGraph
from hips.seeding import stream

BATCHES = (1, 2, 4, 8, 16, 32, 64)
REPEATS = 20
Arrays = Mapping[str, Any]
Call = Callable[[Arrays], list[Any]]


def session(path: Path, change: Callable[[Any], None] = lambda options: None) -> Any:
    """A session with one thread and other options changed."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    change(options)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def bare(path: Path) -> Call:
    """Without the checks of the Python wrapper."""
    own = session(path)
    names = [output.name for output in own.get_outputs()]
    run = own._sess.run  # what `InferenceSession.run` calls
    return lambda inputs: list(run(names, inputs, None))


def bound(path: Path) -> Call:
    """IO binding: inputs and outputs in buffers that are reused for every call of a shape."""
    own = session(path)
    names = [output.name for output in own.get_outputs()]
    kept: dict[int, tuple[Any, dict[str, Any]]] = {}

    def call(inputs: Arrays) -> list[Any]:
        rows = len(next(iter(inputs.values())))
        if rows not in kept:
            binding = own.io_binding()
            values = {
                name: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
                for name, array in inputs.items()
            }
            for name, value in values.items():
                binding.bind_ortvalue_input(name, value)
            for name in names:
                binding.bind_output(name, "cpu")
            own.run_with_iobinding(binding)
            for name, value in zip(names, binding.get_outputs(), strict=True):
                binding.bind_ortvalue_output(name, value)
            kept[rows] = binding, values
        binding, values = kept[rows]
        for name, array in inputs.items():
            values[name].update_inplace(array)
        own.run_with_iobinding(binding)
        return [value.numpy() for value in binding.get_outputs()]

    return call


def with_options(change: Callable[[Any], None]) -> Callable[[Path], Call]:
    """A variant with other session options."""

    def make(path: Path) -> Call:
        own = session(path, change)
        return lambda inputs: list(own.run(None, dict(inputs)))

    return make


def _without_arena(options: Any) -> None:
    options.enable_cpu_mem_arena = False


def _without_patterns(options: Any) -> None:
    options.enable_mem_pattern = False


def _extended(options: Any) -> None:
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED


def _without_prepacking(options: Any) -> None:
    options.add_session_config_entry("session.disable_prepacking", "1")


VARIANTS: Mapping[str, Callable[[Path], Call]] = {
    "bare call": bare,
    "IO binding": bound,
    "no arena": with_options(_without_arena),
    "no memory patterns": with_options(_without_patterns),
    "extended graph level": with_options(_extended),
    "no prepacking": with_options(_without_prepacking),
}


def measure(call: Call, inputs: Arrays) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    for _ in range(REPEATS):
        call(inputs)
    return (time.perf_counter() - began) / REPEATS


def compare(path: Path, states: Any, rounds: int) -> None:
    """Prints a row for every batch."""
    usual: Call = OnnxGraph(path)
    variants = {name: make(path) for name, make in VARIANTS.items()}
    for batch in BATCHES:
        inputs = {"states": np.ascontiguousarray(states[:batch])}
        expected = usual(inputs)
        cells = {}
        for name, call in variants.items():
            same = all(np.array_equal(a, b) for a, b in zip(expected, call(inputs), strict=True))
            ratios = [measure(call, inputs) / measure(usual, inputs) for _ in range(rounds)]
            cells[name] = f"{np.median(ratios):.3f}{'' if same else ' (differs)'}"
        each = np.median([measure(usual, inputs) for _ in range(rounds)]) * 1e6
        head = f"{path.parent.name}/{path.name} | {batch} | {each:.0f}"
        print(f"| {head} | {' | '.join(cells.values())} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--domain", nargs="*", default=[], help="default: all that have a model")
    parser.add_argument("--graph", default="heuristic", help="a graph whose only input is states")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print(f"| graph | rows | µs | {' | '.join(VARIANTS)} |")
    print("|---" * (3 + len(VARIANTS)) + "|")
    for name, folder in bundle.installed().items():
        if options.domain and name not in options.domain:
            continue
        states = domains.create(name).sample(stream(0, "runtime"), max(BATCHES))
        for path in sorted(folder.glob(f"{options.graph}*.onnx")):
            compare(path, states, options.rounds)


if __name__ == "__main__":
    main()
