"""From trained networks to a bundle: ONNX graphs, fp16 weights, and the card."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hips._version import __version__
from hips.domains import Domain, Grids
from hips.errors import ModelError
from hips.files import replacing, sha256, write_json
from hips.models.bundle import CARD, FORMAT_VERSION
from hips.models.networks.assembly import Networks
from hips.models.networks.graphs import graph_modules
from hips.models.networks.weights import save_weights
from hips.models.runtime import Graph
from hips.seeding import stream
from hips.training import config as configuration
from hips.training.corpus import Corpus
from hips.training.loop import StageReport
from hips.training.pipeline import TrainedRun
from hips.training.quantise import quantise_bundle

OPSET = 18
EXPORTED = 16
CALIBRATED = 768
TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """A graph to export: its module, example inputs and the names around it."""

    module: nn.Module
    inputs: Mapping[str, Tensor]
    outputs: tuple[str, ...]
    batched: Mapping[str, str]


def graph_specs(networks: Networks, states: Grids) -> dict[str, GraphSpec]:
    """All graphs of a bundle, with example inputs made from `states` `[B, H, W]`."""
    grids = torch.from_numpy(np.ascontiguousarray(states))
    shifted = grids.roll(1, 0)
    count, num_codes = len(grids), len(networks.subgoals.code_vectors)
    actions = torch.arange(count) % networks.dynamics.num_actions
    parents = torch.arange(count).repeat(2)
    codes = torch.arange(2 * count) % num_codes
    modules = graph_modules(networks)
    single, pair = {"states": grids}, {"states": grids, "subgoals": shifted}
    batch, pairs = {"states": "batch"}, {"states": "batch", "subgoals": "batch"}
    return {
        "policy": GraphSpec(modules["policy"], pair, ("log_probabilities", "reachable"), pairs),
        "encoder": GraphSpec(modules["encoder"], pair, ("codes",), pairs),
        "prior": GraphSpec(modules["prior"], single, ("codes", "actions"), batch),
        "decoder": GraphSpec(
            modules["decoder"],
            {"states": grids, "parents": parents, "codes": codes},
            ("scores",),
            {"states": "batch", "parents": "decoded", "codes": "decoded"},
        ),
        "heuristic": GraphSpec(modules["heuristic"], single, ("distances",), batch),
        "dynamics": GraphSpec(
            modules["dynamics"],
            {"states": grids, "actions": actions},
            ("next_states",),
            {"states": "batch", "actions": "batch"},
        ),
        "detector": GraphSpec(
            modules["detector"], single, ("queries", "keys", "distance_bias"), batch
        ),
    }


def export_graph(spec: GraphSpec, path: Path, fixed_size: bool) -> None:
    """Writes one graph and compares it with torch on the example inputs."""
    spec.module.eval()
    axes = {name: _dynamic(name, spec, fixed_size) for name in spec.inputs}
    # The tracing exporter: the newer one takes a hundred times as long for the same graphs.
    with warnings.catch_warnings(), replacing(path) as temporary:
        warnings.simplefilter("ignore")
        torch.onnx.export(
            spec.module,
            tuple(spec.inputs.values()),
            str(temporary),
            input_names=list(spec.inputs),
            output_names=list(spec.outputs),
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    _compare(spec, path)


def _dynamic(name: str, spec: GraphSpec, fixed_size: bool) -> dict[int, str]:
    axes = {0: spec.batched[name]}
    if not fixed_size and spec.inputs[name].ndim == 3:
        axes.update({1: "height", 2: "width"})
    return axes


def _compare(spec: GraphSpec, path: Path) -> None:
    with torch.no_grad():
        expected = spec.module(*spec.inputs.values())
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = Graph(path)({name: v.numpy() for name, v in spec.inputs.items()})
    for name, ours, theirs in zip(spec.outputs, expected, found, strict=True):
        difference = np.abs(ours.numpy().astype(np.float64) - theirs).max(initial=0.0)
        scale = max(1.0, float(np.abs(ours.numpy()).max(initial=0.0)))
        if not difference <= TOLERANCE * scale:
            raise ModelError(
                f"{path.name}: output '{name}' of the exported graph differs from torch by "
                f"{difference:.2g}; the export is not usable."
            )


def export_bundle(
    run: TrainedRun, domain: Domain, examples: Corpus, out: Path, facts: Mapping[str, Any]
) -> None:
    """Writes the bundle of a trained run; the card last, so that a half bundle is none."""
    out.mkdir(parents=True, exist_ok=True)
    networks = run.networks.cpu().eval()
    _refuse_broken(networks)
    fixed_size = run.config.network.positions
    specs = graph_specs(networks, examples.states[:EXPORTED])
    for name, spec in specs.items():
        export_graph(spec, out / f"{name}.onnx", fixed_size)
    save_weights(networks, out)
    rng = stream(run.config.seed, "quantise")
    starts = rng.choice(examples.decisions, size=CALIBRATED)
    ends = examples.random_ends(rng, starts, run.config.horizon)
    states, subgoals = examples.states[starts], examples.states[ends]
    int8 = quantise_bundle(out, states, subgoals, run.config.vqvae.num_codes)
    write_card(run, domain, out, {**facts, "int8_error": int8})


def write_card(run: TrainedRun, domain: Domain, out: Path, facts: Mapping[str, Any]) -> None:
    """Writes the card of the files in `out`."""
    spec = domain.spec
    files = sorted([*out.glob("*.onnx"), *out.glob("*.safetensors")])
    card = {
        "format_version": FORMAT_VERSION,
        "hips_version": __version__,
        "domain": domain.name,
        "parameters": domain.parameters(),
        "spec": {
            "height": spec.height,
            "width": spec.width,
            "symbols": spec.num_symbols,
            "actions": spec.num_actions,
        },
        "configuration": configuration.to_json(run.config),
        "training": _training(run.reports, run.before),
        **facts,
        "files": {path.name: sha256(path) for path in files},
    }
    write_json(out / CARD, card)


def _training(
    reports: Mapping[str, StageReport], before: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What every stage did; `before` is what the model that it started from says of it."""
    found = {
        name: {
            "steps": report.steps,
            "minutes": round(report.seconds / 60, 2),
            "validation": {k: round(v, 5) for k, v in report.metrics.items()},
            **({"before": before[name]} if name in before else {}),
        }
        for name, report in reports.items()
    }
    return {name: found.get(name) or before[name] for name in (*before, *found)}


def _refuse_broken(networks: Networks) -> None:
    for name, value in networks.state_dict().items():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise ModelError(f"the weights '{name}' are not finite; train that stage again.")
