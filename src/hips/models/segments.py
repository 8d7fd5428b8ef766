"""Segmentations of trajectories into subgoals, as plain arrays.

A segmentation is given by `following` `[M]`: the next subgoal chosen in *every* state of a set of
trajectories; the segments proper are the chain from a trajectory's first state.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.domains import Domain, Grids

Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

STEPPED_AT_ONCE = 65_536


@njit(cache=True)
def follow_chain(following: Indices, offsets: Indices) -> tuple[Indices, Indices]:
    """The segmentation that starts at each trajectory's first state.

    Args:
        following: `[M]`, the next subgoal chosen in each state.
        offsets: `[N + 1]`, where trajectories start.

    Returns:
        `ends` `[M]`: the end of the segment that holds each state (itself for the last one),
        and `is_start` `[M]`: 1 where a segment starts.
    """
    ends = np.empty_like(following)
    is_start = np.zeros_like(following)
    for n in range(len(offsets) - 1):
        last = offsets[n + 1] - 1
        position = offsets[n]
        while position < last:
            end = following[position]
            is_start[position] = 1
            for t in range(position, end):
                ends[t] = end
            position = end
        ends[last] = last
    return ends, is_start


@njit(cache=True)
def best_segmentation(log_pi: Floats, offsets: Indices, penalty: float) -> tuple[Indices, Floats]:
    """Exact dynamic programming from the back of each trajectory.

    Args:
        log_pi: `[M, H]`, log π(a_t | s_t, s_{t+d}) for d = 1 … H.
        offsets: `[N + 1]`.
        penalty: α.

    Returns:
        `following` `[M]`, the best next subgoal of each state, and the value `[M]`.
    """
    horizon = log_pi.shape[1]
    following = np.zeros(len(log_pi), dtype=np.int64)
    value = np.zeros(len(log_pi))
    for n in range(len(offsets) - 1):
        first, last = offsets[n], offsets[n + 1] - 1
        following[last] = last
        for i in range(last - 1, first - 1, -1):
            value[i] = -np.inf
            for j in range(i + 1, min(i + horizon, last) + 1):
                total = value[j] - penalty
                for t in range(i, j):
                    total += log_pi[t, j - t - 1]
                if total > value[i]:
                    value[i], following[i] = total, j
    return following, value


def later_states(offsets: Indices, horizon: int) -> tuple[Indices, npt.NDArray[np.bool_]]:
    """For every state the indices of the next `horizon` ones `[M, H]`, and which exist."""
    last = np.repeat(offsets[1:] - 1, np.diff(offsets))
    positions = np.arange(len(last))[:, None] + np.arange(1, horizon + 1)
    exists = positions <= last[:, None]
    return np.where(exists, positions, 0), exists


def likeliest_following(
    queries: npt.NDArray[np.float32],
    keys: npt.NDArray[np.float32],
    bias: npt.NDArray[np.float32],
    offsets: Indices,
) -> Indices:
    """The detector's most likely next subgoal of every state.

    Args:
        queries: `[M, E]`, embedding of each state as the present one.
        keys: `[M, E]`, embedding of each state as a subgoal.
        bias: `[H]`, for each distance.
        offsets: `[N + 1]`.
    """
    horizon = len(bias)
    following = np.empty(len(queries), dtype=np.int64)
    scale = 1.0 / np.sqrt(queries.shape[1])
    for first, stop in itertools.pairwise(offsets):
        product = queries[first:stop] @ keys[first:stop].T * scale
        distance = np.arange(stop - first)[None] - np.arange(stop - first)[:, None] - 1
        near = (distance >= 0) & (distance < horizon)
        scores = np.where(near, product + bias[np.clip(distance, 0, horizon - 1)], -np.inf)
        following[first:stop] = first + scores.argmax(axis=1)
        following[stop - 1] = stop - 1
    return following


def irreversible_steps(domain: Domain, states: Grids, offsets: Indices) -> npt.NDArray[np.bool_]:
    """Which states `[M]` are left by a step that no single action undoes."""
    lasting = np.ones(len(states), dtype=np.bool_)
    for start in range(0, len(states) - 1, STEPPED_AT_ONCE):
        window = states[start : start + STEPPED_AT_ONCE + 1]
        before, after = window[:-1], window[1:]
        for action in range(domain.spec.num_actions):
            back = domain.step(after, np.full(len(after), action))
            lasting[start : start + len(after)] &= (back != before).any(axis=(1, 2))
    lasting[offsets[1:] - 1] = False
    return lasting


def event_following(
    domain: Domain, states: Grids, offsets: Indices, horizon: int, ahead: int = 1
) -> Indices:
    """The next event of every state: where a run of irreversible steps ends.

    Ways to the same event differ from demonstrator to demonstrator, the events do not: they are
    what can be foreseen. In a world where every step can be undone all subgoals are `horizon` on.

    Args:
        domain: whose steps they are.
        states: `[M, H, W]`.
        offsets: `[N + 1]`.
        horizon: most steps to a subgoal.
        ahead: which of the coming events, 1 for the next.
    """
    lasting = irreversible_steps(domain, states, offsets)
    last = np.repeat(offsets[1:] - 1, np.diff(offsets))
    positions = np.arange(len(states))
    is_event = positions == last
    is_event[1:] |= lasting[:-1] & ~lasting[1:]
    events = np.flatnonzero(is_event)
    coming = np.searchsorted(events, positions, side="right") + ahead - 1
    reached = events[np.minimum(coming, len(events) - 1)]
    return np.minimum(np.minimum(reached, positions + horizon), last)


def mean_objective(log_pi: Floats, following: Indices, offsets: Indices, penalty: float) -> float:
    """Σ log π − α · segments of the chains from the first states, per trajectory."""
    ends, is_start = follow_chain(following, offsets)
    positions = np.arange(len(ends))
    acting = ends > positions
    gained = log_pi[positions[acting], (ends - positions)[acting] - 1].sum()
    return float((gained - penalty * is_start.sum()) / (len(offsets) - 1))


def mean_segment(following: Indices, offsets: Indices) -> float:
    """Mean length of the segments in the chains from the first states."""
    _, is_start = follow_chain(following, offsets)
    return float((offsets[-1] - len(offsets) + 1) / max(1, is_start.sum()))
