"""Models on disk: found, checked file by file, and opened as graphs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from hips import domains, parts
from hips.errors import ModelError
from hips.files import sha256
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.models import bundle
from hips.models.card import CARD, WEIGHTS, read_card
from hips.parts.dynamics.adapter import LearnedDynamics
from hips.parts.heuristic.adapter import LearnedHeuristic
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.parts.subgoals.adapter import ENCODER, decode
from hips.seeding import stream
from hips.training import scoring
from hips.training.config import default_config
from hips.training.model_folder import export_model
from tests.models.conftest import Change
from tests.models.untrained import untrained, workshop
from tests.training.conftest import SHIPPED


def test_graphs_take_any_batch(model: Path) -> None:
    loaded = bundle.load(model)
    runtime, domain = loaded.runtime(), loaded.domain
    assert domain == domains.create("sliding_tiles", height=3, width=3)
    for size in (1, 5):
        states = domain.sample(stream(size, "batch"), size)
        codes, actions = LearnedPrior(runtime).evaluate(states)
        assert codes.shape == (size, 8)
        assert actions.shape == (size, 4)
        foresight = LearnedReachPolicy(runtime).act(states, states)
        foresight.check(size)
        assert foresight.log_probabilities.shape == (size, loaded.card.horizon, 4)
        assert foresight.reachable is not None
        assert ((foresight.reachable >= 0) & (foresight.reachable <= 1)).all()
        assert LearnedHeuristic(runtime).distances(states).shape == (size,)
        assert runtime.rowwise(ENCODER, states=states, subgoals=states)[0].shape == (size,)
        following = LearnedDynamics(runtime).step(states, np.zeros(size, dtype=np.int64))
        assert following.dtype == np.uint8
        parents = np.zeros(7, dtype=np.int64)
        assert decode(runtime, states, parents, np.arange(7)).shape == (7, 3, 3, 9)


def test_files_that_no_part_names_are_not_used(change_card: Change) -> None:
    """Such as what an earlier model left in the folder."""

    def forget(content: dict[str, object]) -> None:
        del content["parts"]["reach_policy"]["graphs"]["policy"]["int8"]  # type: ignore[index]
        del content["files"]["policy.int8.onnx"]  # type: ignore[attr-defined]

    folder = change_card(forget)
    (folder / "policy.int8.onnx").write_text("of an earlier model")
    loaded = bundle.load(folder)
    states = loaded.domain.sample(stream(0, "forgotten"), 3)
    rough, exact = (
        LearnedReachPolicy(loaded.runtime(precision)).act(states, states)  # type: ignore[arg-type]
        for precision in ("int8", "fp32")
    )
    np.testing.assert_array_equal(rough.log_probabilities, exact.log_probabilities)


@pytest.mark.parametrize("graph", ["policy.onnx", "policy.int8.onnx"])
def test_files_without_a_hash_are_refused(graph: str, change_card: Change) -> None:
    folder = change_card(lambda content: content["files"].pop(graph))
    with pytest.raises(ModelError, match=f"no hash of {graph}"):
        bundle.load(folder)


@pytest.mark.parametrize("name", ["../outside.onnx", "/outside.onnx", "a/b.onnx", "..", ".", ""])
def test_files_outside_the_folder_are_refused(
    name: str, change_card: Change, tmp_path: Path
) -> None:
    """Whether a part names them or not, and even if their hash is right."""
    (tmp_path / "outside.onnx").write_bytes(b"outside")
    digest = sha256(tmp_path / "outside.onnx")
    folder = change_card(lambda content: content["files"].update({name: digest}))
    with pytest.raises(ModelError, match="outside its folder"):
        bundle.load(folder)

    def use(content: dict[str, object]) -> None:
        content["parts"]["prior"]["graphs"]["prior"] = {"fp32": name}  # type: ignore[index]

    with pytest.raises(ModelError, match=r"no hash of|outside its folder"):
        bundle.load(change_card(use))


def test_a_folder_in_place_of_a_file_is_missing(copy: Path) -> None:
    (copy / "prior.onnx").unlink()
    (copy / "prior.onnx").mkdir()
    with pytest.raises(ModelError, match=r"prior\.onnx is missing"):
        bundle.load(copy)


def test_int8_answers_like_fp32(model: Path) -> None:
    loaded = bundle.load(model)
    kept = loaded.card.facts["int8_error"]
    assert set(kept) <= {"policy", "prior", "heuristic", "decoder"}
    assert "policy" in kept
    assert (model / "policy.int8.onnx").exists()
    states = loaded.domain.sample(stream(9, "int8"), 64)
    exact, rough = (
        LearnedReachPolicy(loaded.runtime(precision)).act(states, states)  # type: ignore[arg-type]
        for precision in ("fp32", "int8")
    )
    pairs = [
        (exact.log_probabilities, rough.log_probabilities),
        (exact.reachable, rough.reachable),
    ]
    for expected, found in pairs:
        assert expected is not None
        assert found is not None
        assert not np.array_equal(expected, found)
        assert np.abs(expected - found).max() < 0.1


def test_a_planner_with_a_bad_model_is_still_complete(model: Path) -> None:
    planner = Planner.load("sliding_tiles", model=model, method="hips_eps", height=3, width=3)
    near = np.array([[1, 0, 2], [3, 4, 5], [6, 7, 8]], dtype=np.uint8)
    result = planner.solve(near)
    assert result.plan == ("left",)
    assert result.provenance.method == "hips_eps"
    assert result.provenance.model == read_card(model).fingerprint()


def test_a_model_of_another_size_is_refused(model: Path) -> None:
    domain = domains.create("sliding_tiles", height=2, width=2)
    with pytest.raises(ModelError, match="grids of 3×3, not 2×2"):
        bundle.load(model, domain)
    with pytest.raises(ModelError, match="grids of 3×3, not 2×2"):
        Planner(domain, Choice(model=model))


@pytest.mark.usefixtures("few_samples")
def test_scores_are_shares_and_always_the_same(model: Path) -> None:
    loaded = bundle.load(model)
    scores = scoring.score(loaded, parts.known(), count=5, seed=1)
    assert set(scores) == {scoring.SHARED, *SHIPPED}
    for part, found in scores.items():
        for name, value in found.items():
            assert np.isfinite(value), (part, name)
    shares = {
        "subgoals": ("coverage", "codes_in_use", "usable"),
        "reach_policy": ("reach",),
        "prior": ("action_accuracy",),
        "dynamics": ("exact",),
    }
    for part, names in shares.items():
        assert set(scores[part]) == set(names)
        assert all(0.0 <= scores[part][name] <= 1.0 for name in names)
    assert scores["detector"]["objective"] <= scores["detector"]["exact_objective"] <= 0.0
    assert -1.0 <= scores["heuristic"]["spearman"] <= 1.0
    assert scores == scoring.score(loaded, parts.known(), count=5, seed=1)
    assert scores != scoring.score(loaded, parts.known(), count=5, seed=2)


@pytest.mark.usefixtures("few_samples")
def test_a_part_that_is_not_known_here_is_not_scored(model: Path) -> None:
    known = parts.known(["heuristic", "dynamics"])
    scores = scoring.score(bundle.load(model), known, count=5, seed=1)
    assert set(scores) == {scoring.SHARED, "heuristic", "dynamics"}


@pytest.mark.parametrize("name", ["policy.onnx", "policy.int8.onnx", WEIGHTS])
def test_truncated_files_are_named(copy: Path, name: str) -> None:
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match=f"{name}: damaged"):
        bundle.load(copy)


def test_missing_files_are_named(copy: Path) -> None:
    (copy / "prior.onnx").unlink()
    with pytest.raises(ModelError, match=r"prior\.onnx is missing"):
        bundle.load(copy)


def test_a_graph_that_is_none_is_named(change_card: Change, copy: Path) -> None:
    (copy / "prior.onnx").write_bytes(b"no graph")
    digest = sha256(copy / "prior.onnx")
    loaded = bundle.load(
        change_card(lambda content: content["files"].update({"prior.onnx": digest}))
    )
    with pytest.raises(ModelError, match=r"prior\.onnx: not a usable ONNX graph"):
        LearnedPrior(loaded.runtime()).evaluate(loaded.domain.sample(stream(0, "none"), 1))


def test_a_model_of_another_domain_is_refused(model: Path) -> None:
    with pytest.raises(ModelError, match="made for 'sliding_tiles'"):
        bundle.load(model, domains.create("sokoban"))


def test_weights_that_are_not_finite_are_not_exported(tmp_path: Path) -> None:
    domain = domains.create("sliding_tiles", height=2, width=2)
    config = default_config(domain, parts.known(["prior"]), "smoke")
    networks = untrained(domain, config)
    with torch.no_grad():
        next(networks["prior"].parameters()).fill_(float("nan"))
    work = workshop(domain, config, networks, tmp_path)
    with pytest.raises(ModelError, match=r"'prior\..*not finite"):
        export_model(work, {}, None, tmp_path / "x", {}, {})
    assert not (tmp_path / "x" / CARD).exists()


def test_an_interrupted_export_leaves_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card comes last."""
    domain = domains.create("sliding_tiles", height=2, width=2)
    config = default_config(domain, parts.known(["dynamics"]), "smoke")
    work = workshop(domain, config, untrained(domain, config), tmp_path)

    def interrupted(*unused: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hips.training.model_folder.save_weights", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_model(work, {}, None, tmp_path / "x", {}, {})
    assert (tmp_path / "x" / "dynamics.onnx").exists()
    with pytest.raises(ModelError, match="No model"):
        bundle.load(tmp_path / "x")


def test_unknown_models_list_what_is_installed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bundle.SEARCH_VARIABLE, str(model.parent))
    assert bundle.find("tiny") == model
    with pytest.raises(ModelError, match="tiny"):
        bundle.load("nothing")


def test_a_damaged_model_of_the_user_leaves_the_built_in_one(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = copy.rename(copy.parent / "sliding_tiles")
    monkeypatch.setenv(bundle.SEARCH_VARIABLE, str(mine.parent))
    graph = next(iter(sorted(mine.glob("*.onnx"))))
    graph.write_bytes(graph.read_bytes() + b"x")
    assert bundle.find("sliding_tiles") == bundle.shipped_folder() / "sliding_tiles"
    with pytest.raises(ModelError, match="damaged"):
        bundle.load(mine)  # asked for by its folder


def test_a_folder_of_models_takes_precedence(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.rename(copy, copy.parent / "sliding_tiles")
    shipped = bundle.installed()["sliding_tiles"]
    monkeypatch.setenv(bundle.SEARCH_VARIABLE, str(copy.parent))
    assert bundle.require("sliding_tiles") == copy.parent / "sliding_tiles" != shipped
    assert set(bundle.installed()) >= {"box_world", "sliding_tiles", "sokoban", "tsp"}
