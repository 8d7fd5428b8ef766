"""From trained networks to a bundle: ONNX graphs, fp16 weights, and the card."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from hips._version import __version__
from hips.domains import Domain, Grids
from hips.errors import ModelError
from hips.files import replacing, sha256, write_json
from hips.models.bundle import CARD, FORMAT_VERSION
from hips.models.networks.heads import Detector, Dynamics
from hips.models.networks.vqvae import SubgoalModel
from hips.models.runtime import Graph
from hips.seeding import stream
from hips.training import config as configuration
from hips.training.corpus import Corpus
from hips.training.networks import Networks
from hips.training.pipeline import TrainedRun
from hips.training.quantise import quantise_bundle

OPSET = 18
EXPORTED = 16
CALIBRATED = 768
TOLERANCE = 1e-3


class DecoderGraph(nn.Module):
    """g(e, s): the trunk once per state, then a short head per code."""

    codes: Tensor

    def __init__(self, model: SubgoalModel) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("codes", model.code_vectors.detach().clone())

    def forward(self, states: Tensor, parents: Tensor, codes: Tensor) -> Tensor:
        """Cell scores `[M, H, W, symbols]`."""
        features = self.model.features(states)
        return self.model.decode(features[parents], self.codes[codes], states[parents])


class EncoderGraph(nn.Module):
    """The code of the step from a state to its subgoal."""

    codes: Tensor

    def __init__(self, model: SubgoalModel) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("codes", functional.normalize(model.code_vectors.detach(), dim=-1))

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """The nearest code's index `[B]`."""
        return (self.model.encode(states, subgoals) @ self.codes.T).argmax(dim=-1)


class DynamicsGraph(nn.Module):
    """f(s, a) as a grid of symbols."""

    def __init__(self, dynamics: Dynamics) -> None:
        super().__init__()
        self.dynamics = dynamics

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """The likeliest next states, uint8 `[B, H, W]`."""
        return self.dynamics(states, actions).argmax(dim=-1).to(torch.uint8)


class DetectorGraph(nn.Module):
    """The detector's embeddings and its bias for each distance."""

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys `[B, E]`, bias `[H]`."""
        queries, keys, _ = self.detector.embed(states)
        return queries, keys, self.detector.distance_bias.clone()


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
    batch = {"states": "batch"}
    pair, pairs = {"states": grids, "subgoals": shifted}, {"states": "batch", "subgoals": "batch"}
    return {
        "policy": GraphSpec(networks.policy, pair, ("log_probabilities",), pairs),
        "encoder": GraphSpec(EncoderGraph(networks.subgoals), pair, ("codes",), pairs),
        "prior": GraphSpec(networks.prior, {"states": grids}, ("codes", "actions"), batch),
        "decoder": GraphSpec(
            DecoderGraph(networks.subgoals),
            {"states": grids, "parents": parents, "codes": codes},
            ("scores",),
            {"states": "batch", "parents": "decoded", "codes": "decoded"},
        ),
        "heuristic": GraphSpec(networks.heuristic, {"states": grids}, ("distances",), batch),
        "dynamics": GraphSpec(
            DynamicsGraph(networks.dynamics),
            {"states": grids, "actions": actions},
            ("next_states",),
            {"states": "batch", "actions": "batch"},
        ),
        "detector": GraphSpec(
            DetectorGraph(networks.detector),
            {"states": grids},
            ("queries", "keys", "distance_bias"),
            batch,
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
    found = Graph(path, threads=1)({name: v.numpy() for name, v in spec.inputs.items()})
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
    weights = {
        name: value.half() if value.is_floating_point() else value
        for name, value in networks.state_dict().items()
    }
    with replacing(out / "weights.safetensors") as temporary:
        save_file({name: value.contiguous() for name, value in weights.items()}, temporary)
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
        "training": {
            name: {
                "steps": report.steps,
                "minutes": round(report.seconds / 60, 2),
                "validation": {k: round(v, 5) for k, v in report.metrics.items()},
            }
            for name, report in run.reports.items()
        },
        **facts,
        "files": {path.name: sha256(path) for path in files},
    }
    write_json(out / CARD, card)


def _refuse_broken(networks: Networks) -> None:
    for name, value in networks.state_dict().items():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise ModelError(f"the weights '{name}' are not finite; train that stage again.")
