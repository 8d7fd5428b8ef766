from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import tests.toys  # noqa: F401  (registers line_world)
from hips import domains, parts
from hips.errors import ConfigError, ModelError
from hips.files import sha256
from hips.models import bundle
from hips.models.card import WEIGHTS, Card, read_card, write_card
from hips.parts.reach_policy.train import ImitationStage
from hips.seeding import stream
from hips.training import run
from hips.training.config import TrainingConfig, default_config, from_json, override
from hips.training.loop import StageReport
from hips.training.pipeline import build_networks, open_run, ordered_stages, run_stages
from hips.training.progress import Reporter
from hips.training.run import TrainingJob, train
from hips.training.warm_start import find_warm_start, is_cold, shaping
from hips.training.workshop import Workshop
from tests.models.untrained import export_untrained, workshop
from tests.training.conftest import SHIPPED, STAGES

LINE = domains.create("line_world")
PARTS = parts.known(SHIPPED)
Networks = Mapping[str, nn.Module]
Earlier = tuple[Path, Networks]


def line_config(*names: str, seed: int = 0) -> TrainingConfig:
    chosen = names or SHIPPED
    short = [
        f"{stage}.{change}"
        for stage in STAGES
        if stage.split(".")[0] in chosen
        for change in ("steps=4", "validate_every=2")
    ]
    return override(default_config(LINE, parts.known(chosen), "smoke", seed), short)


def line_job(out: Path, start: Path | None, *names: str) -> TrainingJob:
    return TrainingJob(
        LINE, line_config(*names), PARTS, out, device="cpu", threads=1, warm_start=start
    )


STORY = {"steps": 5, "minutes": 1.0, "validation": {}}


def change_card(folder: Path, change: Callable[[Card], Card]) -> None:
    write_card(folder, change(read_card(folder)))


def with_story(card: Card) -> Card:
    """The card of a model that went through all stages."""
    stories = {
        name: {stage.split(".")[1]: STORY for stage in STAGES if stage.split(".")[0] == name}
        for name in card.parts
    }
    entries = {n: replace(entry, training=stories[n]) for n, entry in card.parts.items()}
    return replace(card, parts=entries)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    """A finished model of another seed."""
    folder: Path = tmp_path_factory.mktemp("start") / "model"
    networks = export_untrained(LINE, line_config(seed=7), folder)
    change_card(folder, with_story)
    return folder, networks


@pytest.fixture(scope="module")
def only_policy(tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    """A model of one part, which could only imitate."""
    folder: Path = tmp_path_factory.mktemp("policy") / "model"
    networks = export_untrained(LINE, line_config("reach_policy", seed=7), folder)
    entry = {
        "reach_policy": replace(
            read_card(folder).parts["reach_policy"], training={"imitation": STORY}
        )
    }
    change_card(folder, lambda card: replace(card, parts=entry))
    return folder, networks


def rounded(network: nn.Module) -> dict[str, torch.Tensor]:
    """The weights as a model keeps them: fp16."""
    return {
        name: value.half().float() if value.is_floating_point() else value.clone()
        for name, value in network.state_dict().items()
    }


def same(first: Mapping[str, torch.Tensor], second: Mapping[str, torch.Tensor]) -> bool:
    assert set(first) == set(second)
    return all(torch.equal(value, second[name]) for name, value in first.items())


class Seen(BaseException):
    """Ends a training before its first stage."""


def begin(job: TrainingJob, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """What a training would begin with."""
    found: list[Workshop] = []

    def look(workshop: Workshop, *unused: Any) -> dict[str, StageReport]:
        found.append(workshop)
        raise Seen

    monkeypatch.setattr(run, "run_stages", look)
    with pytest.raises(Seen):
        train(job)
    return found[0]


def test_the_networks_start_from_the_weights_of_the_model(
    earlier: Earlier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, expected = earlier
    job = line_job(tmp_path, folder)
    first = begin(job, monkeypatch).networks
    random = build_networks(PARTS, line_config(), LINE.spec)
    assert set(first) == set(expected) == set(SHIPPED)
    for name, network in expected.items():
        assert same(first[name].state_dict(), rounded(network)), name
        assert not same(first[name].state_dict(), random[name].state_dict()), name
    config = from_json(json.loads((tmp_path / "config.json").read_text()), PARTS)
    assert config.warm_start == {
        "model": str(folder),
        "sha256": sha256(folder / WEIGHTS),
        "parts": list(expected),
    }
    with pytest.raises(ConfigError, match="'warm_start' differs"):
        train(replace(job, warm_start=None, resume=True))


def test_parts_that_are_not_trained_are_there_to_be_read(
    earlier: Earlier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = begin(line_job(tmp_path, earlier[0], "heuristic"), monkeypatch)
    assert set(work.networks) == set(SHIPPED)
    assert set(work.config.parts) == {"heuristic"}
    for name, network in earlier[1].items():
        assert same(work.networks[name].state_dict(), rounded(network)), name


@pytest.mark.usefixtures("few_samples")
def test_a_warm_start_keeps_the_parts_that_are_not_trained(
    earlier: Earlier, tmp_path: Path
) -> None:
    """Their weights, graphs, configurations and stories; all parts are scored."""
    folder, before = earlier
    trained = train(line_job(tmp_path, folder, "dynamics"))
    assert set(trained.reports) == {"dynamics.training"}
    old, new = (bundle.load(one, LINE).card for one in (folder, tmp_path / "model"))
    assert set(new.parts) == set(SHIPPED)
    stored = [load_file(one / WEIGHTS) for one in (folder, tmp_path / "model")]
    assert set(stored[0]) == set(stored[1])
    changed = {
        name.split(".")[0] for name, value in stored[0].items() if not value.equal(stored[1][name])
    }
    assert changed == {"dynamics"}
    for name in SHIPPED:
        assert new.parts[name].scores, name
        if name != "dynamics":
            assert set(new.parts[name].graphs) == set(old.parts[name].graphs)
            assert new.parts[name].configuration == old.parts[name].configuration
            assert new.parts[name].training == old.parts[name].training
    story = new.parts["dynamics"].training["training"]
    assert story["before"] == STORY
    assert story["steps"] == line_config().parts["dynamics"].training.steps
    assert "before" not in new.parts["prior"].training["training"]
    states = LINE.sample(stream(0, "kept"), 5)
    with torch.no_grad():
        expected = before["heuristic"].eval()(torch.from_numpy(states))
    found = bundle.load(tmp_path / "model", LINE).runtime().rowwise("heuristic", states=states)[0]
    torch.testing.assert_close(torch.from_numpy(found), expected, rtol=0.01, atol=0.5)


@pytest.mark.usefixtures("few_samples")
def test_a_model_of_one_part_goes_on_learning(only_policy: Earlier, tmp_path: Path) -> None:
    """There is no generator to practise on, neither here nor in the model."""
    trained = train(line_job(tmp_path, only_policy[0], "reach_policy"))
    assert set(trained.reports) == {"reach_policy.imitation"}
    assert trained.card is not None
    assert trained.card.parts["reach_policy"].training["imitation"]["before"] == STORY


@pytest.mark.usefixtures("few_samples")
def test_a_policy_practises_on_the_generator_of_the_model(earlier: Earlier, tmp_path: Path) -> None:
    trained = train(line_job(tmp_path, earlier[0], "reach_policy"))
    assert set(trained.reports) == {"reach_policy.imitation", "reach_policy.chunking"}
    assert trained.card is not None
    assert set(trained.card.parts) == set(SHIPPED)


@pytest.mark.usefixtures("few_samples")
def test_a_part_that_the_model_lacks_is_added(only_policy: Earlier, tmp_path: Path) -> None:
    trained = train(line_job(tmp_path, only_policy[0], "dynamics"))
    assert trained.card is not None
    assert set(trained.card.parts) == {"dynamics", "reach_policy"}
    assert same(
        trained.networks["reach_policy"].state_dict(), rounded(only_policy[1]["reach_policy"])
    )
    assert "before" not in trained.card.parts["dynamics"].training["training"]


@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("brought", [None, [], ["dynamics"], ["reach_policy"]])
def test_stages_overwrite_nothing_that_a_model_brought(
    brought: list[str] | None, cold: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless they are told to."""
    prepared: list[ImitationStage] = []
    monkeypatch.setattr(ImitationStage, "prepare", lambda self: prepared.append(self))
    stage = "reach_policy.imitation"
    settings = [f"{stage}.steps=1", f"{stage}.validate_every=1", f"{stage}.cold_start={cold}"]
    config = override(line_config("reach_policy"), settings)
    start = None if brought is None else {"model": "line_world", "sha256": "0", "parts": brought}
    config = replace(config, warm_start=start)
    known = parts.known(["reach_policy"])
    work = workshop(LINE, config, build_networks(known, config, LINE.spec), tmp_path)
    run_stages(work, ordered_stages(known, config), [stage], Reporter(None))
    assert len(prepared) == int(cold or "reach_policy" not in (brought or []))


def test_runs_from_before_a_setting_existed_can_be_resumed(tmp_path: Path) -> None:
    open_run(tmp_path, line_config(), PARTS, resume=False)
    path = tmp_path / "config.json"
    content = json.loads(path.read_text())
    del content["warm_start"], content["parts"]["reach_policy"]["imitation"]["cold_start"]
    path.write_text(json.dumps(content))
    open_run(tmp_path, line_config(), PARTS, resume=True)


def test_a_model_of_another_domain_is_refused(earlier: Earlier, tmp_path: Path) -> None:
    tiles = domains.create("sliding_tiles", height=2, width=2)
    config = default_config(tiles, PARTS, "smoke")
    job = TrainingJob(tiles, config, PARTS, tmp_path / "run", warm_start=earlier[0])
    with pytest.raises(ModelError, match="made for 'line_world', not for 'sliding_tiles'"):
        train(job)
    assert not (tmp_path / "run").exists()


def test_another_horizon_is_refused_with_the_setting_to_add(earlier: Earlier) -> None:
    other = override(line_config(), ["horizon=2"])
    with pytest.raises(ModelError, match=r"another horizon.*--config horizon=3$"):
        find_warm_start(earlier[0], LINE, other, PARTS)


def test_other_sizes_are_refused_with_the_settings_to_add(earlier: Earlier) -> None:
    other = override(line_config(), ["subgoals.trunk.channels=20", "subgoals.num_codes=9"])
    message = (
        r"'subgoals'.*add --config subgoals\.trunk\.channels=16 "
        r"--config subgoals\.num_codes=4$"
    )
    with pytest.raises(ModelError, match=message):
        find_warm_start(earlier[0], LINE, other, PARTS)


def test_what_shapes_no_weights_may_differ(earlier: Earlier) -> None:
    other = override(
        line_config(),
        ["subgoals.discrete.steps=9", "subgoals.commitment=0.5", "detector.samples=3",
         "heuristic.max_distance=64", "reach_policy.proposal_top_p=0.5"],
    )  # fmt: skip
    find_warm_start(earlier[0], LINE, other, PARTS)


def test_parts_with_a_cold_start_may_have_other_sizes(earlier: Earlier) -> None:
    folder, model = earlier
    larger = [
        "dynamics.trunk.channels=20", "dynamics.training.cold_start=true",
        "subgoals.trunk.same_symbols=true", "subgoals.continuous.cold_start=true",
        "prior.trunk.same_symbols=true",
    ]  # fmt: skip
    with pytest.raises(
        ModelError, match=r"'prior'.*add --config prior\.trunk\.same_symbols=false$"
    ):
        find_warm_start(folder, LINE, override(line_config(), larger), PARTS)
    config = override(line_config(), [*larger, "prior.training.cold_start=true"])
    networks = build_networks(PARTS, config, LINE.spec)
    before = {
        name: {k: v.clone() for k, v in one.state_dict().items()} for name, one in networks.items()
    }
    find_warm_start(folder, LINE, config, PARTS).load_into(networks, config)
    for name in ("dynamics", "subgoals", "prior"):
        assert is_cold(config.parts[name])
        assert same(networks[name].state_dict(), before[name]), name
    for name in ("reach_policy", "detector", "heuristic"):
        assert not is_cold(config.parts[name])
        assert same(networks[name].state_dict(), rounded(model[name])), name
        assert not same(networks[name].state_dict(), before[name]), name


def test_a_heuristic_grows_without_changing_what_it_says(earlier: Earlier) -> None:
    folder, model = earlier
    config = override(line_config(), ["heuristic.trunk.blocks=4"])
    networks = build_networks(PARTS, config, LINE.spec)
    find_warm_start(folder, LINE, config, PARTS).load_into(networks, config)
    grown: Any = networks["heuristic"].eval()
    present: Any = model["heuristic"].eval()
    assert len(grown.trunk.blocks) == 4 > len(present.trunk.blocks)
    states = torch.from_numpy(LINE.sample(stream(0, "grown"), 5))
    said, before = grown(states), present(states)
    assert torch.allclose(said, before, atol=0.05)  # stored as fp16
    smaller = override(line_config(), ["heuristic.trunk.blocks=1"])
    with pytest.raises(ModelError, match=r"'heuristic'.*--config heuristic\.trunk\.blocks=2$"):
        find_warm_start(folder, LINE, smaller, PARTS)


def test_schedules_shape_no_weights() -> None:
    found = shaping(line_config().parts["subgoals"])
    assert found["trunk.channels"] == 16
    assert found["num_codes"] == 4
    assert not [name for name in found if name.startswith(("continuous", "discrete", "commit"))]


def test_damaged_weights_are_refused(earlier: Earlier, tmp_path: Path) -> None:
    folder = shutil.copytree(earlier[0], tmp_path / "model")
    (folder / WEIGHTS).write_bytes(b"nothing")
    with pytest.raises(ModelError, match=f"{WEIGHTS}: damaged"):
        find_warm_start(folder, LINE, line_config(), PARTS)


def test_a_model_without_weights_is_refused(earlier: Earlier, tmp_path: Path) -> None:
    folder = shutil.copytree(earlier[0], tmp_path / "model")
    (folder / WEIGHTS).unlink()
    others = {name: value for name, value in read_card(folder).files.items() if name != WEIGHTS}
    change_card(folder, lambda card: replace(card, files=others))
    with pytest.raises(ModelError, match=f"has no {WEIGHTS}"):
        find_warm_start(folder, LINE, line_config(), PARTS)
