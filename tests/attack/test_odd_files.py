"""Pipes and devices in the place of files, and graphs in the place of others."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from hips import data, domains
from hips.benchmark import lines
from hips.data import labels
from hips.errors import HipsError, ModelError
from hips.files import sha256
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.models import bundle
from hips.models.bundle import shipped_folder
from hips.models.card import CARD
from hips.planner.budget import Budget
from hips.planner.settings import Settings
from hips.seeding import stream
from hips.training.recipes import read_recipe

from .commands import Commands

TILES = domains.create("sliding_tiles", height=2, width=2)
FULL_SIZE = domains.create("sliding_tiles")
SECONDS = 60
"""Far more than a refusal takes."""


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Fails a test that waits for a pipe that nobody writes to."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def linked_model(name: str, folder: Path) -> Path:
    """The shipped model, file by file as links, which can be replaced."""
    folder.mkdir()
    for file in (shipped_folder() / name).iterdir():
        (folder / file.name).symlink_to(file)
    return folder


def dataset(folder: Path) -> Path:
    data.collect(TILES, 5, 0, folder)
    return folder


READERS: dict[str, tuple[str, Callable[[Path], Path], Callable[[Path], object]]] = {
    "card": (CARD, lambda to: linked_model("sliding_tiles", to), bundle.load),
    "graph": ("prior.onnx", lambda to: linked_model("sliding_tiles", to), bundle.load),
    "weights": ("weights.safetensors", lambda to: linked_model("sliding_tiles", to), bundle.load),
    "manifest": ("manifest.json", dataset, data.load),
    "shard": ("shard-00000.npz", dataset, data.load),
    "labels": ("labels.npz", lambda to: to, lambda at: labels.load(at / "labels.npz", TILES)),
    "recipe": ("recipe.json", lambda to: to, lambda at: read_recipe(at / "recipe.json")),
    "results": ("runs.jsonl", lambda to: to, lambda at: list(lines.read(at / "runs.jsonl"))),
}


@pytest.mark.parametrize("put", [pipe, device])
@pytest.mark.parametrize("name", READERS)
def test_a_pipe_or_device_is_refused_at_once(
    name: str, put: Callable[[Path], None], tmp_path: Path
) -> None:
    file, prepare, read = READERS[name]
    folder = prepare(tmp_path / "folder")
    folder.mkdir(exist_ok=True)
    put(folder / file)
    with pytest.raises(HipsError, match=r"regular file|is missing"):
        read(folder)


def test_a_pipe_among_the_models_of_the_user_hides_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sokoban").mkdir()
    pipe(tmp_path / "sokoban" / CARD)
    monkeypatch.setenv(bundle.SEARCH_VARIABLE, str(tmp_path))
    assert bundle.find("sokoban") == shipped_folder() / "sokoban"


def put_graph(folder: Path, graph: str, other: Path) -> None:
    """Replaces a graph of a model, in its card, too."""
    card = json.loads((folder / CARD).read_text())
    for file in (folder / graph, folder / CARD):
        file.unlink()
    shutil.copy(other, folder / graph)
    card["files"][graph] = sha256(folder / graph)
    (folder / CARD).write_text(json.dumps(card))


def solve(model: Path, settings: Settings) -> None:
    levels = list(FULL_SIZE.sample(stream(0, "odd"), 2))
    planner = Planner(FULL_SIZE, Choice("hips_eps", settings, model=model))
    planner.solve_many(levels, Budget(max_expansions=4))


GRAPHS = ("decoder", "dynamics", "encoder", "heuristic", "policy", "prior")


@pytest.mark.parametrize("graph", sorted({*GRAPHS} - {"encoder"}))  # only training uses that
def test_a_graph_in_the_place_of_another_is_named(graph: str, tmp_path: Path) -> None:
    settings = Settings(precision="fp32", dynamics="hybrid")
    for other in GRAPHS:
        if other == graph:
            continue
        model = linked_model("sliding_tiles", tmp_path / other)
        put_graph(model, f"{graph}.onnx", model / f"{other}.onnx")
        with pytest.raises(ModelError, match=rf"\b{graph}\b"):
            solve(model, settings)


@pytest.mark.parametrize("graph", ["decoder", "dynamics", "policy", "prior"])
def test_a_graph_of_another_domain_raises_nothing_else(graph: str, tmp_path: Path) -> None:
    """It may go unnoticed where its arrays have the same shapes; the rules stay the domain's."""
    model = linked_model("sliding_tiles", tmp_path / "model")
    put_graph(model, f"{graph}.onnx", shipped_folder() / "sokoban" / f"{graph}.onnx")
    try:
        solve(model, Settings(precision="fp32", dynamics="hybrid"))
    except HipsError as error:
        assert graph in str(error)  # noqa: PT017


def test_a_swapped_graph_ends_the_command_with_one_message(
    commands: Commands, tmp_path: Path
) -> None:
    model = linked_model("sliding_tiles", tmp_path / "model")
    put_graph(model, "prior.onnx", model / "heuristic.onnx")
    words = ("solve", "sliding_tiles", "--count", "1", "--model", "model", "--method", "hips_eps")
    assert commands.run((*words, "--precision", "fp32"), tmp_path) == 2
    message = (tmp_path / "log").read_text()
    assert "The graph 'prior' of the model returns" in message
    assert "Traceback" not in message
