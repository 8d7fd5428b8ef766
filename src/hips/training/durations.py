"""Durations: of a trial after a training, and in words."""

from __future__ import annotations

TRIAL_SHARE = 0.1
"""Time of a trial, relative to that of the training."""
SHORTEST_TRIAL, LONGEST_TRIAL = 10.0, 60.0
"""Seconds of a trial, whatever the training took."""
LEAST_LEFT = 2.0
"""Seconds below which a trial shows nothing."""


def trial_seconds(training: float, left: float | None = None) -> float:
    """Seconds for the trial of a model, given those of its training and those that are left.

    >>> trial_seconds(20.0), trial_seconds(300.0), trial_seconds(7200.0), trial_seconds(300.0, 5.0)
    (10.0, 30.0, 60.0, 5.0)
    """
    wanted = min(LONGEST_TRIAL, max(SHORTEST_TRIAL, TRIAL_SHARE * training))
    if left is None:
        return wanted
    return min(wanted, left) if left >= LEAST_LEFT else 0.0


def spell_minutes(seconds: float) -> str:
    """A duration in words.

    >>> spell_minutes(40), spell_minutes(1500), spell_minutes(9000)
    ('40 seconds', '25 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
