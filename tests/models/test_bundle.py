from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from hips import domains
from hips.benchmark.validation import held_out, score
from hips.errors import ModelError
from hips.models import bundle
from hips.planner.planner import Planner
from hips.seeding import stream
from hips.training.config import default_config
from hips.training.corpus import Corpus
from hips.training.export import export_bundle
from hips.training.networks import build_networks
from hips.training.pipeline import TrainedRun
from tests.models.untrained import export_untrained


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of untrained networks: enough to test files, graphs and completeness."""
    domain = domains.create("sliding_tiles", height=3, width=3)
    out: Path = tmp_path_factory.mktemp("bundles") / "tiny"
    export_untrained(domain, default_config(domain, "smoke"), out)
    return out


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy"))


def test_graphs_take_any_batch(model: Path) -> None:
    loaded = bundle.load(model)
    runtime, domain = loaded.runtime, loaded.domain
    for size in (1, 5):
        states = domain.sample(stream(size, "batch"), size)
        codes, actions = runtime.prior(states)
        assert codes.shape == (size, loaded.num_codes)
        assert actions.shape == (size, 4)
        chunk, reachable = runtime.policy(states, states)
        assert chunk.shape == (size, loaded.horizon, 4)
        assert reachable.shape == (size,)
        assert ((reachable >= 0) & (reachable <= 1)).all()
        assert runtime.heuristic(states).shape == (size,)
        assert runtime.encode(states, states).shape == (size,)
        following = runtime.dynamics(states, np.zeros(size, dtype=np.int64))
        assert following.dtype == np.uint8
        parents = np.zeros(7, dtype=np.int64)
        assert runtime.decode(states, parents, np.arange(7)).shape == (7, 3, 3, 9)


def test_files_that_the_card_does_not_list_are_not_used(model: Path, tmp_path: Path) -> None:
    """Such as what an earlier model left in the folder."""
    folder = shutil.copytree(model, tmp_path / "model")
    card = bundle.read_card(folder)
    del card["files"]["policy.int8.onnx"]
    (folder / bundle.CARD).write_text(json.dumps(card))
    (folder / "policy.int8.onnx").write_text("of an earlier model")
    assert bundle.load(folder, precision="int8").domain.name == card["domain"]


def test_int8_answers_like_fp32(model: Path) -> None:
    exact, rough = bundle.load(model), bundle.load(model, precision="int8")
    kept = exact.card["int8_error"]
    assert set(kept) <= {"policy", "prior", "heuristic", "decoder"}
    assert "policy" in kept
    assert (model / "policy.int8.onnx").exists()
    states = exact.domain.sample(stream(9, "int8"), 64)
    answers = (loaded.runtime.policy(states, states) for loaded in (exact, rough))
    for expected, found in zip(*answers, strict=True):
        assert not np.array_equal(expected, found)
        assert np.abs(expected - found).max() < 0.1


def test_a_planner_with_a_bad_model_is_still_complete(model: Path) -> None:
    planner = Planner.load("sliding_tiles", model=model, height=3, width=3)
    near = np.array([[1, 0, 2], [3, 4, 5], [6, 7, 8]], dtype=np.uint8)
    assert planner.solve(near).plan == ("left",)


def test_a_model_of_another_size_is_refused(model: Path) -> None:
    domain = domains.create("sliding_tiles", height=2, width=2)
    with pytest.raises(ModelError, match="another alphabet"):
        bundle.load(model, domain)


def test_scores_are_shares(model: Path) -> None:
    scores = asdict(score(bundle.load(model), count=5, seed=1))
    for name, value in scores.items():
        assert np.isfinite(value), name
    assert 0.0 <= scores["coverage"] <= 1.0
    assert scores == asdict(score(bundle.load(model), count=5, seed=1))


@pytest.mark.parametrize("name", ["policy.onnx", "weights.safetensors"])
def test_truncated_files_are_named(copy: Path, name: str) -> None:
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=name):
        bundle.load(copy)


def test_missing_files_are_named(copy: Path) -> None:
    (copy / "prior.onnx").unlink()
    with pytest.raises(ModelError, match=r"prior\.onnx is missing"):
        bundle.load(copy)


def test_other_formats_are_refused(copy: Path) -> None:
    card = json.loads((copy / "card.json").read_text())
    (copy / "card.json").write_text(json.dumps({**card, "format_version": 99}))
    with pytest.raises(ModelError, match="format 99"):
        bundle.load(copy)
    (copy / "card.json").write_text("{")
    with pytest.raises(ModelError, match="not a model"):
        bundle.load(copy)


def test_a_model_of_another_domain_is_refused(model: Path) -> None:
    with pytest.raises(ModelError, match="made for 'sliding_tiles'"):
        bundle.load(model, domains.create("sokoban"))


def test_weights_that_are_not_finite_are_not_exported(tmp_path: Path) -> None:
    domain = domains.create("sliding_tiles", height=2, width=2)
    config = default_config(domain, "smoke")
    networks = build_networks(domain.spec, config)
    with torch.no_grad():
        next(networks.prior.parameters()).fill_(float("nan"))
    examples = Corpus.build(held_out(domain, 5, 0, 1.0), domain)
    with pytest.raises(ModelError, match=r"'prior\..*not finite"):
        export_bundle(TrainedRun(config, networks, {}), domain, examples, tmp_path / "x", {})
    assert not (tmp_path / "x" / "card.json").exists()


def test_unknown_models_list_what_is_installed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bundle.SEARCH_VARIABLE, str(model.parent))
    assert bundle.find("tiny") == model
    with pytest.raises(ModelError, match="tiny"):
        bundle.load("nothing")
