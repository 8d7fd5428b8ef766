"""Errors tell where and what."""

from __future__ import annotations

import copy

import pytest

from hips import errors
from hips.errors import ConfigError, HipsError, LevelError, MissingExtraError, is_interrupt


def test_every_error_is_a_hips_error() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert len(kinds) > 5
    assert all(issubclass(kind, HipsError) for kind in kinds)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (LevelError("bad"), "bad"),
        (LevelError("bad", line=3), "line 3: bad"),
        (LevelError("bad", line=3, column=1), "line 3, column 1: bad"),
        (LevelError("bad", 3, 1).located("a.txt"), "a.txt, line 3, column 1: bad"),
        (LevelError("bad").located("a.txt"), "a.txt: bad"),
    ],
)
def test_level_errors_point_at_the_place(error: LevelError, text: str) -> None:
    assert str(error) == text


def test_missing_extras_say_how_to_get_them() -> None:
    message = "Training needs an optional extra: pip install 'hips-epsilon[train]'"
    assert str(MissingExtraError("Training", "train")) == message


def test_level_errors_survive_a_copy_as_workers_make_it() -> None:
    error = copy.deepcopy(LevelError("bad", 3, 1, "a.txt"))
    assert (error.reason, str(error).endswith("bad")) == ("bad", True)


def test_ctrl_c_is_recognised_inside_kernels() -> None:
    wrapped = SystemError("returned a result with an exception set")
    wrapped.__cause__ = KeyboardInterrupt()
    assert is_interrupt(wrapped)
    assert is_interrupt(KeyboardInterrupt())
    assert not is_interrupt(SystemError("other"))
    assert not is_interrupt(ConfigError("other"))


def test_an_error_while_ctrl_c_unwinds_is_ctrl_c() -> None:
    """As an archive raises it that is closed in the middle of a member."""

    def close() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise ValueError("open writing handle")

    with pytest.raises(ValueError, match="handle") as caught:
        close()
    assert is_interrupt(caught.value)
