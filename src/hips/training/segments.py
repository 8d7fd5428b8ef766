"""Segmentations of trajectories into subgoals, as plain arrays.

A segmentation is an array `following` `[M]`: the next subgoal of *every* state of a set of
trajectories; the actual segments are the chain from a trajectory's first state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numba import njit

from hips.arrays import Bools, Floats, Grids, Ints
from hips.data.dataset import Trajectories
from hips.domains.base import Domain

NextAction: TypeAlias = Callable[[Grids, Grids], Floats]
"""Log π(a | s, s_g) `[B, A]` of the next action, for states and subgoals `[B, H, W]`."""
PairScore: TypeAlias = Callable[[Ints, Ints], Floats]
"""Scores `[B]` of pairs, for the indices `[B]` of their states and subgoals."""
PAIRS_AT_ONCE = 2048

STEPPED_AT_ONCE = 65_536
MANY_ACTIONS, SAMPLED_STEPS = 256, 512


@njit(cache=True)
def follow_chain(following: Ints, offsets: Ints) -> tuple[Ints, Ints]:
    """The segmentation that starts at each trajectory's first state.

    Args:
        following: `[M]`, the next subgoal of each state.
        offsets: `[N + 1]`, where trajectories start.

    Returns:
        `ends` `[M]`: the end of each state's segment (itself for the last one),
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


def best_segmentation(
    log_pi: Floats, offsets: Ints, penalty: float, tolerance: float = 0.0
) -> tuple[Ints, Floats]:
    """The segmentation that maximises Σ log π − α per subgoal, from every state.

    Args:
        log_pi: `[M, H]`, log π(a_t | s_t, s_{t+d}) for d = 1 … H.
        offsets: `[N + 1]`.
        penalty: α.
        tolerance: as for `best_chain`.

    Returns:
        `following` `[M]`, the best next subgoal of each state, and the value `[M]` of the optimum.
    """
    return best_chain(segment_rewards(log_pi, offsets, penalty), offsets, tolerance)


@njit(cache=True)
def best_chain(rewards: Floats, offsets: Ints, tolerance: float = 0.0) -> tuple[Ints, Floats]:
    """Exact dynamic programming over segments, from the end of each trajectory.

    Args:
        rewards: `[M, H]`, what a segment from state i to i + d is worth, in column d − 1.
        offsets: `[N + 1]`.
        tolerance: the farthest of the subgoals that are worth at most this much less than the best
            one is taken.

    Returns:
        `following` `[M]`, the best next subgoal of each state, and the value `[M]` of the optimum.
    """
    horizon = rewards.shape[1]
    following = np.zeros(len(rewards), dtype=np.int64)
    value = np.zeros(len(rewards))
    for n in range(len(offsets) - 1):
        first, last = offsets[n], offsets[n + 1] - 1
        following[last] = last
        for i in range(last - 1, first - 1, -1):
            value[i] = -np.inf
            farthest = min(i + horizon, last)
            for j in range(i + 1, farthest + 1):
                total = value[j] + rewards[i, j - i - 1]
                if total > value[i]:
                    value[i], following[i] = total, j
            for j in range(farthest, following[i], -1):
                if tolerance > 0 and value[j] + rewards[i, j - i - 1] >= value[i] - tolerance:
                    following[i] = j
                    break
    return following, value


def later_states(offsets: Ints, horizon: int) -> tuple[Ints, Bools]:
    """Indices of the next `horizon` states of every state `[M, H]`, and which exist."""
    last = np.repeat(offsets[1:] - 1, np.diff(offsets))
    positions = np.arange(len(last))[:, None] + np.arange(1, horizon + 1)
    exists = positions <= last[:, None]
    return np.where(exists, positions, 0), exists


def likeliest_following(scores: Floats, offsets: Ints) -> Ints:
    """The next subgoal with the highest score `[M, H]` of every state; `-inf` beyond the end."""
    following = np.arange(len(scores)) + 1 + scores.argmax(axis=1)
    last = offsets[1:] - 1
    following[last] = last
    return following


def irreversible_steps(domain: Domain, states: Grids, offsets: Ints) -> Bools:
    """From which states `[M]` the next step cannot be undone by a single action.

    With many actions, a sample of steps decides for all, if they agree.
    """
    lasting = np.zeros(len(states), dtype=np.bool_)
    steps = np.setdiff1d(np.arange(len(states) - 1), offsets[1:] - 1)
    if domain.spec.num_actions > MANY_ACTIONS and len(steps) > SAMPLED_STEPS:
        few = steps[:: len(steps) // SAMPLED_STEPS]
        found = _lasting(domain, states, few)
        if found.all() or not found.any():
            lasting[steps] = found[0]
            return lasting
    for first in range(0, len(steps), STEPPED_AT_ONCE):
        part = steps[first : first + STEPPED_AT_ONCE]
        lasting[part] = _lasting(domain, states, part)
    return lasting


def _lasting(domain: Domain, states: Grids, steps: Ints) -> Bools:
    """Which of the steps from `states[steps]` to the next state no action undoes."""
    lasting = np.ones(len(steps), dtype=np.bool_)
    for action in range(domain.spec.num_actions):
        rows = np.flatnonzero(lasting)
        if not len(rows):
            break
        back = domain.step(states[steps[rows] + 1], np.full(len(rows), action))
        lasting[rows] = (back != states[steps[rows]]).any(axis=(1, 2))
    return lasting


def event_following(
    domain: Domain, states: Grids, offsets: Ints, horizon: int, ahead: int = 1
) -> Ints:
    """The next event of every state: where a run of irreversible steps ends.

    Demonstrators take different paths to the same events, so events are easier to predict than
    paths. If every step can be undone, all subgoals are `horizon` steps ahead.

    Args:
        domain: the domain of the trajectories.
        states: `[M, H, W]`.
        offsets: `[N + 1]`.
        horizon: maximum number of steps to a subgoal.
        ahead: which of the coming events to take; 1 is the next.
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


def mean_objective(log_pi: Floats, following: Ints, offsets: Ints, penalty: float) -> float:
    """Σ log π − α · segments of the chains from the first states, per trajectory."""
    ends, is_start = follow_chain(following, offsets)
    positions = np.arange(len(ends))
    acting = ends > positions
    gained = log_pi[positions[acting], (ends - positions)[acting] - 1].sum()
    return float((gained - penalty * is_start.sum()) / (len(offsets) - 1))


def mean_segment(following: Ints, offsets: Ints) -> float:
    """Mean length of the segments in the chains from the first states."""
    _, is_start = follow_chain(following, offsets)
    return float((offsets[-1] - len(offsets) + 1) / max(1, is_start.sum()))


def against_optimum(
    log_pi: Floats, following: Ints, offsets: Ints, penalty: float
) -> dict[str, float]:
    """The objective and the mean length of a segmentation, and those of the exact one."""
    exact, _ = best_segmentation(log_pi, offsets, penalty)
    return {
        "objective": mean_objective(log_pi, following, offsets, penalty),
        "exact_objective": mean_objective(log_pi, exact, offsets, penalty),
        "segment": mean_segment(following, offsets),
        "exact_segment": mean_segment(exact, offsets),
    }


def pair_scores(score: PairScore, offsets: Ints, horizon: int) -> Floats:
    """The scores of every state with each of its next H states, `[M, H]`; −inf beyond the end."""
    positions, exists = later_states(offsets, horizon)
    rows, columns = np.nonzero(exists)
    subgoals = positions[rows, columns]
    scores = np.full(exists.shape, -np.inf)
    for first in range(0, len(rows), PAIRS_AT_ONCE):
        part = slice(first, first + PAIRS_AT_ONCE)
        scores[rows[part], columns[part]] = score(rows[part], subgoals[part])
    return scores


def taken_log_pi(next_action: NextAction, data: Trajectories) -> PairScore:
    """Log π(a | s, s_g) of the demonstrated action, as a score of pairs."""

    def score(rows: Ints, subgoals: Ints) -> Floats:
        found = next_action(data.states[rows], data.states[subgoals])
        taken: Floats = np.take_along_axis(found, data.actions[rows][:, None], axis=1)[:, 0]
        return taken

    return score


def pair_log_pi(next_action: NextAction, data: Trajectories, horizon: int) -> Floats:
    """Log π(a_t | s_t, s_{t+d}) for every state and d = 1 … H, `[M, H]`; −inf beyond the end."""
    return pair_scores(taken_log_pi(next_action, data), data.offsets, horizon)


@njit(cache=True)
def segment_rewards(log_pi: Floats, offsets: Ints, penalty: float) -> Floats:
    """Σ log π − α of every segment `[M, H]`; column d − 1 is the segment from state i to i + d.

    Args:
        log_pi: `[M, H]`, log π(a_t | s_t, s_{t+d}) in column d − 1.
        offsets: `[N + 1]`, where trajectories start.
        penalty: α.
    """
    horizon = log_pi.shape[1]
    rewards = np.full(log_pi.shape, -np.inf)
    for n in range(len(offsets) - 1):
        last = offsets[n + 1] - 1
        for i in range(offsets[n], last):
            for j in range(i + 1, min(i + horizon, last) + 1):
                total = -penalty
                for t in range(i, j):
                    total += log_pi[t, j - t - 1]
                rewards[i, j - i - 1] = total
    return rewards


@njit(cache=True)
def discounted_returns(rewards: Floats, chosen: Ints, offsets: Ints, discount: float) -> Floats:
    """Return of every state along its chain of chosen subgoals, `[M, S]`.

    Args:
        rewards: `[M, H]` as from `segment_rewards`.
        chosen: `[M, S]`, column of the next subgoal for each of S samples.
        offsets: `[N + 1]`.
        discount: γ, per segment.
    """
    returns = np.zeros(chosen.shape)
    for n in range(len(offsets) - 1):
        for i in range(offsets[n + 1] - 2, offsets[n] - 1, -1):
            for sample in range(chosen.shape[1]):
                column = chosen[i, sample]
                following = returns[i + column + 1, sample]
                returns[i, sample] = rewards[i, column] + discount * following
    return returns
