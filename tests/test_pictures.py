from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hips.errors import ConfigError
from hips.pictures import SUBGOAL_COLOUR, ansi, fitting_cell, plan_frames, save_gif, save_png
from tests.toys import LineWorld

STATE = np.array([[0, 0, 1, 0, 0, 0, 0, 0]], dtype=np.uint8)


def test_frames_follow_the_plan() -> None:
    domain = LineWorld()
    frames = plan_frames(domain, STATE, np.array([1, 0]), cell=10)
    assert [frame.shape for frame in frames] == [(10, 80, 3)] * 3
    np.testing.assert_array_equal(frames[0], frames[2])
    assert not np.array_equal(frames[0], frames[1])


def test_subgoals_get_an_edge() -> None:
    plain = plan_frames(LineWorld(), STATE, np.array([1, 1]), cell=20)
    marked = plan_frames(LineWorld(), STATE, np.array([1, 1]), cell=20, subgoals=[1])
    np.testing.assert_array_equal(plain[2], marked[2])
    assert (marked[1][0] == SUBGOAL_COLOUR).all()
    np.testing.assert_array_equal(plain[1][5:-5, 5:-5], marked[1][5:-5, 5:-5])


def test_png_keeps_every_pixel(tmp_path: Path) -> None:
    picture = LineWorld().render(STATE, 12)
    save_png(picture, tmp_path / "deep" / "a.png")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "deep" / "a.png")), picture)


def test_gif_keeps_colours_and_rests_at_the_end(tmp_path: Path) -> None:
    frames = plan_frames(LineWorld(), STATE, np.array([1, 1, 1]), cell=10)
    save_gif(frames, tmp_path / "a.gif", frame_milliseconds=100)
    with Image.open(tmp_path / "a.gif") as animation:
        assert animation.n_frames == 4
        durations = []
        for i, frame in enumerate(frames):
            animation.seek(i)
            durations.append(animation.info["duration"])
            np.testing.assert_array_equal(np.asarray(animation.convert("RGB")), frame)
    assert durations[:3] == [100] * 3
    assert durations[3] > 1000


def test_a_state_that_does_not_change_still_is_a_frame(tmp_path: Path) -> None:
    frames = plan_frames(LineWorld(), STATE, np.array([], dtype=np.int64))
    save_gif(frames, tmp_path / "a.gif")
    assert Image.open(tmp_path / "a.gif").n_frames == 1


def test_wrong_suffix_and_no_frames_write_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.png"):
        save_png(LineWorld().render(STATE), tmp_path / "a.jpg")
    with pytest.raises(ConfigError, match="at least one frame"):
        save_gif([], tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_pictures_have_a_sensible_size() -> None:
    assert fitting_cell(LineWorld()) * 8 == 480
    assert fitting_cell(LineWorld(length=60), 100) == 8


@pytest.mark.parametrize("columns", [10, 30, 200])
def test_ansi_is_the_picture_in_half_blocks(columns: int) -> None:
    text = ansi(LineWorld(), STATE, columns)
    lines = text.plain.split("\n")
    per_cell = len(lines[0]) // 8
    assert len(lines) == per_cell // 2
    assert {len(line) for line in lines} == {8 * per_cell}
    assert 2 <= per_cell <= 12
    colours = {str(span.style) for span in text.spans}
    assert len(colours) >= 2
