"""Stages that fit into the minutes given."""

from __future__ import annotations

import os

import pytest

from hips import machine
from hips.errors import ConfigError
from hips.training.schedule import Schedule
from hips.training.timing import FEWEST_STEPS, Timetable, with_steps

SCHEDULE = Schedule(steps=1000, validate_every=500)


def test_without_a_limit_nothing_changes() -> None:
    table = Timetable({"a": 100.0, "b": 300.0})
    table.check({"a": 1000, "b": 1000})
    assert table.fitted("a", SCHEDULE, 1e9) == SCHEDULE


def test_stages_share_the_time_by_what_is_expected_of_them() -> None:
    table = Timetable({"a": 100.0, "b": 300.0}, limit=200.0, started=0.0)
    assert table.fitted("a", SCHEDULE, 0.0).steps == 500
    table.finished("a", SCHEDULE, 500, 50.0)  # as expected
    assert table.fitted("b", SCHEDULE, 50.0).steps == 500
    assert table.fitted("b", SCHEDULE, 50.0).validate_every == 166


def test_a_slower_machine_than_expected_shortens_the_rest() -> None:
    table = Timetable({"a": 100.0, "b": 300.0}, limit=200.0, started=0.0)
    table.finished("a", SCHEDULE, 500, 100.0)  # twice as long as expected
    assert table.fitted("b", SCHEDULE, 100.0).steps == 166
    assert table.fitted("b", SCHEDULE, 500.0).steps == FEWEST_STEPS  # time is up


def test_enough_time_leaves_the_steps_as_they_are() -> None:
    table = Timetable({"a": 100.0}, limit=200.0, started=0.0)
    assert table.fitted("a", SCHEDULE, 0.0) == SCHEDULE


def test_minutes_too_few_for_any_learning_are_refused() -> None:
    table = Timetable({"a": 6000.0, "b": 6000.0}, limit=30.0)
    with pytest.raises(ConfigError, match=r"does not fit .* about 9 minutes .*--limit-minutes 9"):
        table.check({"a": 1000, "b": 1000})
    with pytest.raises(ConfigError, match=r"about 19 minutes .* after 8 minutes of preparation"):
        table.check({"a": 1000, "b": 1000}, spent=480.0)
    Timetable({"a": 6000.0, "b": 6000.0}, limit=400.0).check({"a": 1000, "b": 1000})


def test_shortened_schedules_are_still_validated() -> None:
    assert with_steps(SCHEDULE, 60) == Schedule(steps=60, validate_every=20)
    assert with_steps(SCHEDULE, 1000) is SCHEDULE


@pytest.mark.parametrize(("load", "free"), [(0.0, 4), (1.2, 3), (3.9, 1), (30.0, 1)])
def test_a_busy_machine_leaves_fewer_threads(
    monkeypatch: pytest.MonkeyPatch, load: float, free: int
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert machine.free_cores() == free
