"""Pictures of plans in reports."""

from __future__ import annotations

from hips.benchmark import strips
from hips.benchmark.document import Picture, Section


def test_a_picture_is_shown_once_per_report() -> None:
    one, other = Picture("a plan", b"one"), Picture("another plan", b"other")
    sections = [
        Section("first", "First", "", pictures=(one,)),
        Section("second", "Second", "", pictures=(Picture("again", b"one"), other)),
    ]
    assert [section.pictures for section in strips.once(sections)] == [(one,), (other,)]
