"""Named streams: the same names give the same numbers, other names give others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hips.seeding import stream, stream_seed

NAMES = st.lists(st.one_of(st.text(max_size=5), st.integers(0, 99)), max_size=3)


@given(seed=st.integers(0, 2**64), names=NAMES)
def test_streams_repeat(seed: int, names: list[str | int]) -> None:
    first, again = (stream(seed, *names).integers(2**60, size=4).tolist() for _ in range(2))
    assert first == again


def test_streams_of_other_names_or_seeds_differ() -> None:
    labels = [(0, "a"), (0, "b"), (1, "a"), (0, "a", 0), (0, "a", 1), (0, "a", "b"), (0,), (10,)]
    assert len({stream_seed(*label) for label in labels}) == len(labels)


def test_names_are_kept_apart() -> None:
    assert stream_seed(0, "ab", "c") != stream_seed(0, "a", "bc")
    assert stream_seed(1, "2") != stream_seed(12)


def test_streams_never_change_between_versions() -> None:
    assert stream(0, "levels").integers(1000, size=3).tolist() == GOLDEN


GOLDEN = [34, 968, 902]
