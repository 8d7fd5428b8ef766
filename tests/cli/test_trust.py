"""Bad input ends with one message and exit code 2; nothing is lost, nothing is overwritten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hips import domains, files
from hips.data import labels
from hips.errors import DatasetError, HipsError, LevelError
from hips.methods.planner import Planner
from hips.planner.outcomes import Outcome
from hips.seeding import stream

ROOT = Path(__file__).parents[2]


def hips(*words: str, cwd: Path, stdin: bytes | None = b"") -> subprocess.CompletedProcess[str]:
    closed = {} if stdin is not None else {"preexec_fn": lambda: os.close(0)}
    found = subprocess.run(
        [sys.executable, "-m", "hips", *words],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=900,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        **closed,  # type: ignore[call-overload]
    )
    text = [found.stdout.decode(), found.stderr.decode()]
    return subprocess.CompletedProcess(found.args, found.returncode, *text)


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (("solve", "sokoban", "-l", "-"), None, "standard input is closed"),
        (("solve", "sokoban", "-l", "-"), b"\xff\xfe\n", "not UTF-8"),
        (("solve", "sokoban", "-l", "/dev/zero"), b"", "or more characters"),
        (("solve", "sliding_tiles", "--count", "100000000000"), b"", "count"),
        (("solve", "sokoban", "--horizon", "1000000000"), b"", "horizon"),
        (("solve", "sliding_tiles", "--max-expansions", "9" * 400), b"", "too many digits"),
        (("solve", "sliding_tiles", "--workers", "9" * 30), b"", "at most 4096"),
        (("solve", "sliding_tiles", "--threads", "9" * 30), b"", "4096"),
        (("train", "sliding_tiles", "--threads", "9" * 30), b"", "4096"),
        (("train", "sliding_tiles", "--round-levels", "9" * 30, "--rounds", "1"), b"", "too large"),
        (("domains", "--plugin", "leave.py"), b"", "failed to load"),
        (("domains", "--plugin", "no_domain.py"), b"", "no domain"),
        (("solve", "sokoban", "--resume"), b"", "--resume needs --out"),
        (("solve", "sliding_tiles", "--improve", "nan"), b"", " 0"),
        (("solve", "sliding_tiles", "-o", "r", "--tree", "r"), b"", "named twice"),
        (("solve", "sliding_tiles", "-l", "mine", "--tree", "./mine"), b"", "named twice"),
        (("explore", "sliding_tiles", "-l", "mine", "--out", "./mine"), b"", "named twice"),
        (("explore", "sliding_tiles", "--out", "mine"), b"", "mine: already exists"),
    ],
)
def test_bad_input_is_one_message(
    tmp_path: Path, words: tuple[str, ...], stdin: bytes | None, message: str
) -> None:
    (tmp_path / "mine").write_text("1 0 2\n3 4 5\n6 7 8\n")
    (tmp_path / "leave.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "no_domain.py").write_text(
        "from hips.domains import register\n@register('none_such')\nclass X: pass\n"
    )
    found = hips(*words, cwd=tmp_path, stdin=stdin)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("name", ["sokoban", "tsp", "sliding_tiles", "box_world"])
@pytest.mark.parametrize(
    "line", ["1" * 50_000 + "x", "A" * 50_000 + " " * 50_000 + "!", "#" + "1(" * 20_000, "9" * 34]
)
def test_readers_take_linear_time(name: str, line: str) -> None:
    began = time.process_time()
    with pytest.raises(LevelError):
        domains.create(name).parse_many(f"#####\n{line}\n#####\n")
    assert time.process_time() - began < 5


def broken(name: str) -> list[np.ndarray]:
    domain = domains.create(name)
    state = domain.sample(stream(0, "trust"), 1)[0]
    grids = [np.full_like(state, 1)]
    for symbol in range(1, domain.spec.num_symbols):
        twice = state.copy()
        twice[twice == symbol] = 1 if symbol != 1 else 0
        grids.append(twice)
    return [grid for grid in grids if domain.fault(grid)]


@pytest.mark.parametrize("name", domains.names())
def test_a_grid_that_is_no_state_is_invalid_and_proves_nothing(name: str) -> None:
    domain = domains.create(name)
    if not broken(name):
        pytest.skip("every grid is a state")
    for grid in broken(name):
        assert Planner(domain).solve(grid).outcome is Outcome.INVALID_INPUT
    for level in domain.sample(stream(1, "trust"), 20):
        assert domain.fault(level) == ""


@pytest.mark.parametrize(
    ("room", "message"),
    [
        ("######\n#@$.@#\n######", "second player"),
        ("######\n# $. #\n######", "no player"),
        ("######\n#@$$.#\n######", "more boxes than goals"),
        ("######\n#@$..#\n######", "more goals than boxes"),
        ("######\n#@ $. \n######", "not closed"),
    ],
)
def test_a_room_given_as_an_array_is_judged_like_a_text(room: str, message: str) -> None:
    rows = [["# .$*@+".index(glyph) for glyph in row] for row in room.splitlines()]
    sokoban = domains.create("sokoban", height=3, width=6, boxes=1)
    result = Planner(sokoban).solve(np.array(rows, dtype=np.uint8))
    assert result.outcome is Outcome.INVALID_INPUT
    assert message in result.message


def test_output_follows_links_and_never_replaces_pipes(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    files.write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    before = os.stat("/dev/null")
    files.write_text(Path("/dev/null"), "gone")
    assert os.stat("/dev/null").st_rdev == before.st_rdev
    with pytest.raises(HipsError, match="is a folder"):
        files.check_writable(tmp_path)


@pytest.mark.parametrize("fault", ["nan", "negative", "symbol", "bits"])
def test_labels_with_impossible_values_are_refused(tmp_path: Path, fault: str) -> None:
    tiles = domains.create("sliding_tiles", height=2, width=2)
    states = tiles.sample(stream(0, "trust"), 3)
    remaining = np.array([1, 2, 3], np.int32)
    if fault == "nan":
        remaining = np.array([1.0, np.nan, 3.0])  # type: ignore[assignment]
    elif fault == "negative":
        remaining[1] = -2
    elif fault == "symbol":
        states[0, 0, 0] = 9
    path = tmp_path / "labels.npz"
    labels.save(labels.StateLabels(states, remaining, {"domain": tiles.name}), path)
    if fault == "bits":
        content = bytearray(path.read_bytes())
        content[60:80] = bytes(20)
        path.write_bytes(bytes(content))
    with pytest.raises(DatasetError):
        labels.load(path, tiles)


def test_a_broken_model_of_the_user_leaves_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "models" / "sokoban").mkdir(parents=True)
    (tmp_path / "models" / "sokoban" / "card.json").write_text("{}")
    script = (
        "from hips.models import bundle; "
        "assert bundle.find('sokoban') == bundle.shipped_folder() / 'sokoban'"
    )
    environment = {**os.environ, "HIPS_MODELS": str(tmp_path / "models")}
    environment["PYTHONPATH"] = str(ROOT / "src")
    assert subprocess.run([sys.executable, "-c", script], env=environment).returncode == 0


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_keeps_its_results_and_resumes(
    tmp_path: Path, number: signal.Signals, workers: str
) -> None:
    options = ["solve", "sliding_tiles", "--set", "height=3", "--set", "width=3"]
    options += ["--method", "low_level", "--out", "r.jsonl", "--workers", workers]
    options += ["--max-expansions", "1000", "--batch", "4"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hips", *options, "-n", "1000000"],  # it cannot end by itself
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    path = tmp_path / "r.jsonl"
    deadline = time.monotonic() + 900
    while time.monotonic() < deadline and not (path.exists() and path.stat().st_size):
        time.sleep(0.01)
    process.send_signal(number)
    process.wait(900)
    if number != signal.SIGKILL:
        assert process.returncode == 130
    before = [
        json.loads(line) for line in path.read_text().splitlines(keepends=True) if line[-1:] == "\n"
    ]
    assert before
    total = max(record["index"] for record in before) + 20
    options += ["-n", str(total)]
    refused = hips(*options, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    assert hips(*options, "--resume", cwd=tmp_path).returncode in (0, 1)
    after = [json.loads(line) for line in path.read_text().splitlines()]
    assert after[: len(before)] == before
    assert sorted(record["index"] for record in after) == list(range(total))
    other = hips(*options, "--resume", "--max-expansions", "7", cwd=tmp_path)
    assert "other settings" in other.stderr


SMALL = ("solve", "sliding_tiles", "--set", "height=2", "--set", "width=2")


@pytest.mark.parametrize("content", [b"1 2\n3 0", b"half", b"\x00" * 100_000])
@pytest.mark.parametrize("more", [(), ("--resume",)])
def test_a_file_that_holds_something_else_stays_as_it_is(
    tmp_path: Path, content: bytes, more: tuple[str, ...]
) -> None:
    (tmp_path / "mine").write_bytes(content)
    found = hips(*SMALL, "--out", "mine", *more, cwd=tmp_path)
    assert found.returncode == 2
    assert "Traceback" not in found.stderr
    assert (tmp_path / "mine").read_bytes() == content


BROKEN_PLUGIN = """
import sys
from dataclasses import dataclass
from hips.domains import register
from hips.domains.sliding_tiles import SlidingTiles

@register("leaves")
@dataclass(frozen=True)
class Leaves(SlidingTiles):
    '''Ends the program.'''

    def step(self, states, actions):
        sys.exit(0)

@register("raises")
@dataclass(frozen=True)
class Raises(SlidingTiles):
    '''Fails.'''

    def step(self, states, actions):
        raise ZeroDivisionError("oh")
"""


@pytest.mark.parametrize("name", ["leaves", "raises"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_plugin_that_fails_while_it_works_is_blamed(
    tmp_path: Path, name: str, workers: str
) -> None:
    (tmp_path / "broken.py").write_text(BROKEN_PLUGIN)
    words = ("solve", name, "--set", "height=2", "--set", "width=2", "--method", "low_level")
    words += ("--plugin", "broken.py", "-n", "2", "--batch", "1", "--workers", workers)
    found = hips(*words, cwd=tmp_path)
    assert found.returncode == 2
    assert "broken.py, line " in found.stderr
    assert "the plug-in failed" in found.stderr
    assert "Traceback" not in found.stderr
