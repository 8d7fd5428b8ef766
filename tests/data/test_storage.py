from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hips.data import Demonstrations, load, save
from hips.data.shards import read_shard
from hips.errors import DatasetError
from tests.toys import LineWorld


def flip_byte(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(bytes(content))


def same(first: Demonstrations, second: Demonstrations) -> bool:
    names = ("starts", "actions", "offsets", "validation")
    return all(np.array_equal(getattr(first, n), getattr(second, n)) for n in names)


def test_save_and_load_give_the_same_back(dataset: Demonstrations, tmp_path: Path) -> None:
    saved = save(dataset, tmp_path / "copy")
    loaded = load(tmp_path / "copy")
    assert same(dataset, loaded)
    assert loaded.manifest == saved.manifest
    assert loaded.manifest["seed"] == 1
    assert loaded.domain == LineWorld()


def test_the_same_data_is_the_same_bytes(dataset: Demonstrations, tmp_path: Path) -> None:
    first = save(dataset, tmp_path / "a").manifest
    second = save(dataset, tmp_path / "b").manifest
    assert first == second


def test_save_refuses_a_folder_in_use(dataset: Demonstrations, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="already"):
        save(dataset, tmp_path / "data")


def test_manifest_says_what_is_inside(dataset: Demonstrations, tmp_path: Path) -> None:
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text())
    assert manifest["domain"] == {
        "name": "line_world",
        "parameters": {"length": 8, "holes": False},
    }
    assert manifest["counts"]["demonstrations"] == 300
    assert manifest["counts"]["train"] + manifest["counts"]["validation"] == 300
    assert manifest["counts"]["steps"] == dataset.lengths.sum()
    assert manifest["lengths"]["mean"] == pytest.approx(dataset.lengths.mean(), abs=1e-3)
    assert manifest["lengths"]["max"] == dataset.lengths.max()
    assert [entry["demonstrations"] for entry in manifest["shards"]] == [256, 44]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: flip_byte(path, 300),
        lambda path: flip_byte(path, path.stat().st_size // 2),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"noise" * 1000),
        lambda path: path.unlink(),
    ],
)
def test_a_damaged_shard_is_named(
    dataset: Demonstrations, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(tmp_path / "data" / "shard-00001.npz")
    with pytest.raises(DatasetError, match=r"shard-00001\.npz"):
        load(tmp_path / "data")


def test_any_flipped_byte_of_a_shard_is_noticed(dataset: Demonstrations, tmp_path: Path) -> None:
    path = tmp_path / "data" / "shard-00001.npz"
    original = path.read_bytes()
    for position in np.random.default_rng(0).integers(len(original), size=40):
        path.write_bytes(original)
        flip_byte(path, int(position))
        with pytest.raises(DatasetError, match=r"shard-00001\.npz"):
            load(tmp_path / "data")


def test_damaged_bytes_never_raise_anything_else(dataset: Demonstrations, tmp_path: Path) -> None:
    path = tmp_path / "data" / "shard-00001.npz"
    original, refused = path.read_bytes(), 0
    for position in np.random.default_rng(1).integers(len(original), size=200):
        path.write_bytes(original)
        flip_byte(path, int(position))
        try:
            read_shard(path, dataset.domain.spec)
        except DatasetError as error:
            refused += path.name in str(error)
    assert refused > 150


def test_a_whole_but_exchanged_shard_is_noticed(dataset: Demonstrations, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "shard-00001.npz").write_bytes((folder / "shard-00000.npz").read_bytes())
    with pytest.raises(DatasetError, match=r"shard-00001.npz.*SHA-256"):
        load(folder)


def test_pickles_are_never_read(tmp_path: Path) -> None:
    path = tmp_path / "shard-00000.npz"
    np.savez(path, starts=np.array([{}], dtype=object), actions=1, offsets=1, origin=1)
    with pytest.raises(DatasetError, match="damaged"):
        read_shard(path)


@pytest.mark.parametrize(
    ("starts", "actions", "offsets", "reason"),
    [
        (np.zeros((1, 8), np.uint8), [1], [0, 1], "grids"),
        (np.zeros((1, 1, 8), np.uint8), [1], [0, 2], "offsets"),
        (np.zeros((1, 1, 8), np.uint8), [1], [0, 1, 1], "differ"),
        (np.zeros((2, 1, 8), np.uint8), [1], [0, 2, 1], "offsets"),
        (np.zeros((1, 1, 7), np.uint8), [1], [0, 1], "shape"),
        (np.full((1, 1, 8), 3, np.uint8), [1], [0, 1], "symbols"),
        (np.zeros((1, 1, 8), np.uint8), [2], [0, 1], "actions"),
    ],
)
def test_arrays_that_make_no_sense_are_refused(
    tmp_path: Path, starts: np.ndarray, actions: list[int], offsets: list[int], reason: str
) -> None:
    path = tmp_path / "shard-00000.npz"
    np.savez(
        path,
        starts=starts,
        actions=np.array(actions, np.uint8),
        offsets=np.array(offsets, np.int64),
        origin=np.frombuffer(b"{}", np.uint8),
    )
    with pytest.raises(DatasetError, match=reason):
        read_shard(path, LineWorld().spec)


def edit_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_bad_folders_are_explained(dataset: Demonstrations, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with pytest.raises(DatasetError, match="hips collect"):
        load(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match=r"manifest\.json"):
        load(tmp_path)
    edit_manifest(folder, format_version=99)
    with pytest.raises(DatasetError, match="version 99"):
        load(folder)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(DatasetError, match="damaged"):
        load(folder)
    (folder / "manifest.json").write_text("[]")
    with pytest.raises(DatasetError, match="damaged"):
        load(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(DatasetError, match="not finished"):
        load(folder)


def test_another_domain_is_refused(dataset: Demonstrations, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="shape"):
        load(tmp_path / "data", LineWorld(length=9))
    edit_manifest(tmp_path / "data", domain={"name": "gone", "parameters": {}})
    with pytest.raises(DatasetError, match="gone"):
        load(tmp_path / "data", LineWorld())
    with pytest.raises(DatasetError, match=r"Unknown domain 'gone'.*plug-in"):
        load(tmp_path / "data")


def test_actions_are_matched_by_name(dataset: Demonstrations, tmp_path: Path) -> None:
    edit_manifest(tmp_path / "data", actions=["right", "left"])
    swapped = load(tmp_path / "data")
    np.testing.assert_array_equal(swapped.actions, 1 - dataset.actions)
    edit_manifest(tmp_path / "data", actions=["left", "jump"])
    with pytest.raises(DatasetError, match="jump"):
        load(tmp_path / "data")


def test_a_part_can_be_saved(dataset: Demonstrations, tmp_path: Path) -> None:
    part = replace(dataset.select(np.arange(5)))
    assert len(save(part, tmp_path / "part")) == len(load(tmp_path / "part")) == 5
