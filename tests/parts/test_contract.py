"""What every part promises, whoever wrote it: one test for each promise, over the registry."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import nn

from hips import domains, parts
from hips.errors import ConfigError, UnknownNameError
from hips.models.runtime import OnnxGraph
from hips.parts.blocks.config import TrunkConfig
from hips.training.config import TrainingConfig, build, default_config, override
from hips.training.contract import BATCH, Examples, GraphSpec, Part
from hips.training.export import export_graph
from hips.training.loop import Stage
from hips.training.pipeline import build_networks
from hips.training.schedule import Schedule, Size
from hips.training.scoring import held_out
from hips.training.warm_start import shaping
from tests.models.untrained import untrained, workshop
from tests.training.conftest import SHIPPED

DOMAINS = {
    "sliding_tiles": {"height": 3, "width": 3},
    "tsp": {"size": 7, "cities": 4},
    "sokoban": {"height": 8, "width": 8, "boxes": 2},
}
"""Small domains: one plain, one with anchors, one with a border."""


def make(name: str) -> domains.Domain:
    return domains.create(name, **DOMAINS[name])


@pytest.fixture(scope="module")
def tiles() -> domains.Domain:
    return make("sliding_tiles")


@pytest.fixture(scope="module")
def config(tiles: domains.Domain) -> TrainingConfig:
    return default_config(tiles, parts.known(), "smoke")


@pytest.fixture(scope="module")
def networks(tiles: domains.Domain, config: TrainingConfig) -> dict[str, nn.Module]:
    return untrained(tiles, config)


def examples(domain: domains.Domain, count: int, seed: int = 0) -> Examples:
    """Demonstrated states and later ones."""
    data = held_out(domain, count, seed, 1.0)
    starts = data.offsets[:-1]
    return Examples(data.states[starts], data.states[starts + 1], domain.spec.num_actions)


@pytest.mark.parametrize("name", parts.names())
@pytest.mark.parametrize("size", get_args(Size))
@pytest.mark.parametrize("domain", DOMAINS)
def test_configurations_are_frozen_data_that_survive_json(
    name: str, size: Size, domain: str
) -> None:
    part = parts.get(name)
    config = part.configure(make(domain), size)
    assert type(config) is part.config_type
    assert dataclasses.is_dataclass(config)
    first = dataclasses.fields(config)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(config, first, getattr(config, first))
    content = json.loads(json.dumps(dataclasses.asdict(config)))
    assert build(part.config_type, content) == config
    assert hash(config) == hash(build(part.config_type, content))


@pytest.mark.parametrize("name", parts.names())
def test_a_configuration_has_defaults_schedules_and_sizes(name: str) -> None:
    """Everything has a default, so that older cards can be read; some of it shapes weights."""
    usual = parts.get(name).config_type()
    values = [getattr(usual, field.name) for field in dataclasses.fields(usual)]
    assert any(isinstance(value, Schedule) for value in values)
    assert shaping(usual)


@pytest.mark.parametrize("name", parts.names())
def test_a_part_says_what_it_is(name: str) -> None:
    part = parts.get(name)
    assert isinstance(part, Part)
    assert part.name == name
    assert part.about
    assert not part.about.endswith(".")
    assert part.headline
    assert set(part.upstream) <= set(parts.names()) - {name}


@pytest.mark.parametrize("name", parts.names())
@pytest.mark.parametrize("domain", DOMAINS)
def test_networks_are_built_from_data_alone(name: str, domain: str) -> None:
    part, own = parts.get(name), make(domain)
    config = part.configure(own, "smoke")
    torch.manual_seed(1)
    first = part.build(own.spec, config, own.preset.horizon)
    torch.manual_seed(1)
    again = part.build(own.spec, config, own.preset.horizon)
    assert isinstance(first, nn.Module)
    assert sum(value.numel() for value in first.parameters()) > 0
    for key, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[key]), key


@pytest.mark.parametrize("name", parts.names())
def test_the_structure_is_the_same_at_every_size(name: str, tiles: domains.Domain) -> None:
    """Weights have the same names up to the number of blocks and layers."""
    part = parts.get(name)

    def kinds(size: Size) -> set[str]:
        known = {name: part}
        config = default_config(tiles, known, size)
        network = build_networks(known, config, tiles.spec)[name]
        return {
            ".".join(p for p in key.split(".") if not p.isdigit()) for key in network.state_dict()
        }

    assert kinds("smoke") == kinds("laptop")


@pytest.mark.parametrize("name", parts.names())
def test_stages_are_named_after_their_part_and_can_be_built(
    name: str,
    tiles: domains.Domain,
    config: TrainingConfig,
    networks: dict[str, nn.Module],
    tmp_path: Path,
    few_samples: None,
) -> None:
    stages = parts.get(name).stages(config)
    names = [stage.name for stage in stages]
    assert names
    assert len(set(names)) == len(names)
    work = workshop(tiles, config, networks, tmp_path)
    for stage in stages:
        assert stage.name.startswith(f"{name}.")
        assert stage.part == name
        built = stage.build(work)
        assert isinstance(built, Stage)
        assert isinstance(built.schedule, Schedule)
        assert built.schedule in [
            getattr(config.parts[name], field.name)
            for field in dataclasses.fields(config.parts[name])
        ]
        taught = {id(value) for value in built.objective.parameters()}
        assert {id(value) for value in networks[name].parameters()} <= taught


def test_all_stages_need_and_follow_stages_that_exist(config: TrainingConfig) -> None:
    config = override(config, ["segmentation.foresight=0.1"])
    specs = [stage for part in parts.known().values() for stage in part.stages(config)]
    names = [stage.name for stage in specs]
    assert len(set(names)) == len(names)
    for stage in specs:
        assert {*stage.needs, *stage.after} <= set(names) - {stage.name}


@pytest.mark.parametrize("name", parts.names())
def test_a_stage_draws_batches_learns_and_validates(
    name: str,
    tiles: domains.Domain,
    config: TrainingConfig,
    tmp_path: Path,
    few_samples: None,
) -> None:
    work = workshop(tiles, config, untrained(tiles, config), tmp_path)
    for spec in parts.get(name).stages(config):
        stage = spec.build(work)
        size = 8
        batch, again = (stage.batch(np.random.default_rng(3), size) for _ in range(2))
        for key, value in batch.items():
            assert torch.equal(value, again[key]), key
        stage.objective.train()
        loss, metrics = stage.objective(batch)
        assert loss.shape == ()
        assert torch.isfinite(loss)
        assert all(torch.isfinite(torch.as_tensor(value)) for value in metrics.values())
        loss.backward()
        taught = work.networks[name]
        assert any(value.grad is not None and value.grad.any() for value in taught.parameters())
        stage.objective.eval()
        with torch.no_grad():
            found = stage.validate()
        assert np.isfinite(found["score"])


def specs_of(name: str, network: nn.Module) -> list[GraphSpec]:
    return list(parts.get(name).graphs(network.eval()))


def test_graph_names_are_unique(networks: dict[str, nn.Module]) -> None:
    names = Counter(spec.name for name, one in networks.items() for spec in specs_of(name, one))
    assert names
    assert [name for name, count in names.items() if count > 1] == []


def run_module(spec: GraphSpec, inputs: dict[str, Any]) -> tuple[torch.Tensor, ...]:
    with torch.no_grad():
        tensors = [torch.from_numpy(np.ascontiguousarray(value)) for value in inputs.values()]
        found = spec.module(*tensors)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", parts.names())
@pytest.mark.parametrize("domain", DOMAINS)
def test_graphs_are_exported_and_agree_with_torch(name: str, domain: str, tmp_path: Path) -> None:
    """On other states, and another number of them, than they were traced with."""
    own = make(domain)
    known = parts.known([name])
    network = untrained(own, default_config(own, known, "smoke"))[name]
    specs = specs_of(name, network)
    assert specs
    for spec in specs:
        path = tmp_path / f"{spec.name}.onnx"
        export_graph(spec, spec.inputs(examples(own, 4)), path, fixed_size=True)
        for count in (1, 7):
            inputs = dict(spec.inputs(examples(own, count, seed=5)))
            expected = run_module(spec, inputs)
            found = OnnxGraph(path)(inputs)
            assert len(expected) == len(found) == len(spec.outputs)
            for ours, theirs in zip(expected, found, strict=True):
                np.testing.assert_allclose(theirs, ours.numpy(), atol=1e-3, rtol=1e-3)
                assert theirs.dtype == ours.numpy().dtype


@pytest.mark.parametrize("name", parts.names())
def test_a_row_does_not_depend_on_the_rows_beside_it(
    name: str, tiles: domains.Domain, networks: dict[str, nn.Module]
) -> None:
    given = examples(tiles, 6)
    for spec in specs_of(name, networks[name]):
        if any(axis != BATCH for axis in spec.axes.values()):
            continue  # rows of a graph with two kinds of rows refer to each other
        inputs = dict(spec.inputs(given))
        whole = run_module(spec, inputs)
        one = run_module(spec, {key: value[2:3] for key, value in inputs.items()})
        for all_rows, row in zip(whole, one, strict=True):
            if len(all_rows) == len(given.states):
                torch.testing.assert_close(
                    row[0].double(), all_rows[2].double(), atol=1e-4, rtol=1e-4
                )


@pytest.mark.parametrize("name", parts.names())
def test_parts_without_positions_take_any_size(name: str, tiles: domains.Domain) -> None:
    part = parts.get(name)
    config = part.configure(tiles, "smoke")
    assert isinstance(part.takes_any_size(config), bool)
    trunk = getattr(config, "trunk", None)
    if isinstance(trunk, TrunkConfig):
        for positions in (False, True):
            chosen = dataclasses.replace(trunk, positions=positions)
            own = dataclasses.replace(config, trunk=chosen)
            assert part.takes_any_size(own) is not positions


def test_segmenters_have_names_of_their_own() -> None:
    offered = Counter(["events"])
    for name in parts.names():
        offered.update(list(parts.get(name).segmenters()))
    assert set(offered) >= {"events", "exact", "detector"}
    assert [name for name, count in offered.items() if count > 1] == []


def test_configuring_needs_no_torch() -> None:
    """Nor does anything else that solving may touch: whoever does not train has no torch."""
    code = """
import sys
sys.modules["torch"] = None  # importing it fails
from hips import domains, parts
from hips.training.config import default_config, from_json, to_json
domain = domains.create("sliding_tiles", height=3, width=3)
config = default_config(domain, parts.known(), "smoke")
assert from_json(to_json(config), parts.known()) == config
for name in parts.names():
    part = parts.get(name)
    part.configure(domain, "laptop")
    part.segmenters()
assert len(config.parts) == len(parts.names()) >= 6
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)


def test_the_order_of_parts_does_not_depend_on_what_is_imported_first() -> None:
    code = "import hips.parts.subgoals.adapter; from hips import parts; print(*parts.names())"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    built_in = found.stdout.split()
    assert set(built_in) >= set(SHIPPED)
    assert built_in == [name for name in parts.names() if name in built_in]


def test_the_registry_explains_itself() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown part 'heuristik'.*mean 'heuristic'"):
        parts.get("heuristik")
    with pytest.raises(ConfigError, match="'heuristic' is already registered"):
        parts.register(type(parts.get("heuristic")))
    assert set(parts.defaults()) < set(parts.names())
    assert list(parts.known(["prior", "dynamics"])) == ["prior", "dynamics"]
