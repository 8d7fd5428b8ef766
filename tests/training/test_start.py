from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tests.toys  # noqa: F401  (registers line_world)
from hips import demonstrations, domains
from hips.errors import ConfigError, ModelError
from hips.files import sha256
from hips.models import bundle
from hips.models.networks.assembly import Networks
from hips.models.networks.weights import WEIGHTS
from hips.seeding import stream
from hips.training import session
from hips.training.config import TrainingConfig, default_config, from_json, override
from hips.training.networks import build_networks
from hips.training.pipeline import STAGES, Pipeline, TrainedRun, open_run
from hips.training.policy import PolicyStage
from hips.training.progress import Reporter
from hips.training.session import TrainingJob, train
from hips.training.start import find_start
from hips.training.world import World
from tests.models.untrained import export_untrained

LINE = domains.create("line_world")


def _config(seed: int = 0) -> TrainingConfig:
    return override(default_config(LINE, "smoke", seed), ["vqvae.num_codes=8"])


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Networks]:
    """A finished model of another seed."""
    folder: Path = tmp_path_factory.mktemp("start") / "model"
    return folder, export_untrained(LINE, _config(seed=7), folder)


class Seen(BaseException):
    """Ends a training before its first stage."""


def test_the_networks_start_from_the_weights_of_the_model(
    earlier: tuple[Path, Networks], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, expected = earlier
    first: dict[str, torch.Tensor] = {}

    def look(self: Pipeline, stages: object) -> TrainedRun:
        first.update(self.networks.state_dict())
        raise Seen

    monkeypatch.setattr(session.Pipeline, "run", look)
    job = TrainingJob(LINE, _config(), tmp_path, device="cpu", threads=1, start=folder)
    with pytest.raises(Seen):
        train(job)
    random = build_networks(LINE.spec, _config()).state_dict()
    assert set(first) == set(expected.state_dict())
    for name, value in expected.state_dict().items():
        rounded = value.half().float() if value.is_floating_point() else value
        assert torch.equal(first[name], rounded), name
    assert not torch.equal(first["policy.trunk.stem.weight"], random["policy.trunk.stem.weight"])
    recorded = from_json(json.loads((tmp_path / "config.json").read_text())).start
    assert recorded == {"model": str(folder), "sha256": sha256(folder / WEIGHTS)}
    with pytest.raises(ConfigError, match="'start' differs"):
        train(replace(job, start=None, resume=True))


def test_a_model_that_started_from_another_tells_both_stories(
    earlier: tuple[Path, Networks], tmp_path: Path
) -> None:
    """Only the dynamics are trained here; the rest, and what they were before, is remembered."""
    folder = shutil.copytree(earlier[0], tmp_path / "earlier")
    story = {name: {"steps": 5, "minutes": 1.0, "validation": {}} for name in STAGES}
    bundle.add_to_card(folder, {"training": story})
    job = TrainingJob(
        LINE, _config(), tmp_path / "run", stages=("dynamics",), device="cpu", threads=1,
        start=folder,
    )  # fmt: skip
    train(job)
    card = bundle.load(tmp_path / "run" / "model", LINE).card
    assert list(card["training"]) == list(STAGES)
    assert card["training"]["dynamics"]["before"] == story["dynamics"]
    assert card["training"]["dynamics"]["steps"] == _config().dynamics.steps
    assert card["training"]["prior"] == story["prior"]
    assert "before" not in card


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("start", [None, {"model": "line_world", "sha256": "0"}])
def test_stages_overwrite_nothing_that_a_model_brought(
    start: dict[str, str] | None, anew: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless they are told to."""
    prepared: list[str] = []
    monkeypatch.setattr(PolicyStage, "prepare", lambda stage: prepared.append(stage.name))
    short = override(
        _config(), ["policy.steps=1", "policy.validate_every=1", f"policy.anew={anew}"]
    )
    demos = demonstrations.collect(LINE, count=40, seed=0, out=tmp_path / "data")
    alone = World(0, 1, torch.device("cpu"))
    Pipeline(replace(short, start=start), demos, tmp_path, alone, Reporter(None)).run(["policy"])
    assert prepared == (["policy"] if start is None or anew else [])


def test_runs_from_before_a_setting_existed_can_be_resumed(tmp_path: Path) -> None:
    open_run(tmp_path, _config(), resume=False)
    path = tmp_path / "config.json"
    content = json.loads(path.read_text())
    del content["start"], content["policy"]["anew"]
    path.write_text(json.dumps(content))
    open_run(tmp_path, _config(), resume=True)


def test_a_model_of_another_domain_is_refused(
    earlier: tuple[Path, Networks], tmp_path: Path
) -> None:
    tiles = domains.create("sliding_tiles", height=2, width=2)
    job = TrainingJob(tiles, default_config(tiles, "smoke"), tmp_path / "run", start=earlier[0])
    with pytest.raises(ModelError, match="made for 'line_world', not for 'sliding_tiles'"):
        train(job)
    assert not (tmp_path / "run").exists()


def test_other_sizes_are_refused_with_the_settings_to_add(earlier: tuple[Path, Networks]) -> None:
    other = override(_config(), ["network.channels=20", "vqvae.num_codes=9"])
    message = r"other sizes.*add --set network\.channels=16 --set vqvae\.num_codes=8$"
    with pytest.raises(ModelError, match=message):
        find_start(earlier[0], LINE, other)


def test_networks_that_are_learnt_anew_may_have_other_sizes(
    earlier: tuple[Path, Networks],
) -> None:
    folder, model = earlier
    larger = [
        "network.dynamics_channels=20", "dynamics.anew=true",
        "network.same_symbols=true", "autoencoder.anew=true", "prior.anew=true",
    ]  # fmt: skip
    with pytest.raises(ModelError, match=r"other sizes.*add --set network.same_symbols=false$"):
        find_start(folder, LINE, override(_config(), larger))
    config = override(_config(), [*larger, "heuristic.anew=true"])
    networks = build_networks(LINE.spec, config)
    random = networks.state_dict()["prior.trunk.stem.weight"].clone()
    find_start(folder, LINE, config).load_into(networks)
    now, before = networks.state_dict(), model.state_dict()
    assert torch.equal(now["prior.trunk.stem.weight"], random)
    kept = before["policy.trunk.stem.weight"].half().float()
    assert torch.equal(now["policy.trunk.stem.weight"], kept)


def test_a_heuristic_grows_without_changing_what_it_says(earlier: tuple[Path, Networks]) -> None:
    folder, model = earlier
    config = override(_config(), ["network.heuristic_blocks=4"])
    networks = build_networks(LINE.spec, config).eval()
    find_start(folder, LINE, config).load_into(networks)
    assert len(networks.heuristic.trunk.blocks) == 4 > len(model.heuristic.trunk.blocks)
    states = torch.from_numpy(LINE.sample(stream(0, "grown"), 5))
    said, before = networks.heuristic(states), model.eval().heuristic(states)
    assert torch.allclose(said, before, atol=0.05)  # stored as fp16
    smaller = override(_config(), ["network.heuristic_blocks=1"])
    with pytest.raises(ModelError, match=r"other sizes.*heuristic_blocks=0"):
        find_start(folder, LINE, smaller)


def test_damaged_weights_are_refused(earlier: tuple[Path, Networks], tmp_path: Path) -> None:
    for path in earlier[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / WEIGHTS).write_bytes(b"nothing")
    with pytest.raises(ModelError, match=f"{WEIGHTS}: damaged"):
        find_start(tmp_path, LINE, _config())


def test_a_start_is_no_setting() -> None:
    with pytest.raises(ConfigError, match="option of its own"):
        override(_config(), ["start=somewhere"])
