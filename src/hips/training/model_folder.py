"""The model of a run on disk: graphs, weights and card."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hips._version import __version__
from hips.files import sha256
from hips.models.card import WEIGHTS, Card, PartEntry, describe_spec, write_card
from hips.seeding import stream
from hips.training import config as configuration
from hips.training.contract import Examples
from hips.training.export import export_graphs
from hips.training.loop import StageReport
from hips.training.warm_start import WarmStart
from hips.training.weights import save_weights
from hips.training.workshop import Workshop

CALIBRATED = 768
"""Demonstrated states for tracing and calibration."""


def export_model(
    workshop: Workshop,
    reports: Mapping[str, StageReport],
    start: WarmStart | None,
    out: Path,
    settings: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> Card:
    """Writes a model; the card comes last, so an unfinished export does not pass for a model."""
    out.mkdir(parents=True, exist_ok=True)
    config, parts, networks = workshop.config, workshop.parts, workshop.networks
    configs = _configurations(workshop, start)
    any_size = all(parts[name].takes_any_size(configs[name]) for name in networks)
    examples = calibration_examples(workshop)
    files, errors = export_graphs(parts, networks, examples, not any_size, out)
    save_weights(networks, out)
    entries = {
        name: PartEntry(
            configuration=dataclasses.asdict(configs[name]),
            graphs=files[name],
            weights=name,
            training=_history(name, reports, start),
        )
        for name in networks
    }
    shared = {k: v for k, v in configuration.to_json(config).items() if k != "parts"}
    written = {
        file for part in files.values() for graph in part.values() for file in graph.values()
    }
    card = Card(
        domain=config.domain,
        parameters=dict(config.parameters),
        spec=describe_spec(workshop.domain.spec),
        any_size=any_size,
        parts=entries,
        configuration=shared,
        settings=dict(settings),
        files={name: sha256(out / name) for name in sorted({*written, WEIGHTS})},
        facts={"hips_version": __version__, **facts, "int8_error": errors},
    )
    write_card(out, card)
    return card


def _configurations(workshop: Workshop, start: WarmStart | None) -> dict[str, Any]:
    """The configuration of every part, trained in this run or taken from the warm start."""
    configs = dict(workshop.config.parts)
    for name in workshop.networks:
        if name not in configs and start is not None:
            kind = workshop.parts[name].config_type
            configs[name] = configuration.build(kind, start.entries[name].configuration)
    return configs


def calibration_examples(workshop: Workshop) -> Examples:
    """Demonstrated states of held-out trajectories, for tracing, calibrating and timing."""
    corpus, config = workshop.valid, workshop.config
    rng = stream(config.seed, "quantise")
    starts = rng.choice(corpus.decisions, size=CALIBRATED)
    ends = corpus.random_ends(rng, starts, config.horizon)
    num_actions = workshop.domain.spec.num_actions
    return Examples(corpus.states[starts], corpus.states[ends], num_actions)


def _history(
    part: str, reports: Mapping[str, StageReport], start: WarmStart | None
) -> dict[str, Any]:
    """The record of every stage of a part; `before` is the record in the warm start's card."""
    before = {} if start is None or part not in start.entries else start.entries[part].training
    found = {
        name.split(".", 1)[1]: {
            "steps": report.steps,
            "minutes": round(report.seconds / 60, 2),
            "validation": {k: round(v, 5) for k, v in report.metrics.items()},
        }
        for name, report in reports.items()
        if name.split(".")[0] == part
    }
    for stage, entry in found.items():
        if stage in before:
            entry["before"] = before[stage]
    return {**before, **found}
