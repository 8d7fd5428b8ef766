"""The expert: near-optimal plans, or plans with a given amount of wandering."""

from __future__ import annotations

import numpy as np

from hips.arrays import Actions, Grid
from hips.domains.sokoban.board import Board, Cells, read_board
from hips.domains.sokoban.search import (
    SOLVED,
    UNSOLVABLE,
    moves_of_pushes,
    pushes_of_moves,
    search,
)
from hips.domains.sokoban.wander import advance, wander
from hips.errors import ExpertError, UnsolvableError

# (weight of h in f = 2 g + weight · h, exact player, nodes): short plans first, then any plan.
ATTEMPTS = ((3, True, 1 << 16), (6, True, 1 << 16), (12, True, 1 << 17), (6, False, 1 << 18))
MANY_BOXES = 7
"""With this many boxes or more, the first attempt is hopeless and skipped."""
REPLANNING = ((6, True, 1 << 14),)
"""Attempts at replanning after an excursion; if they fail, the excursion is dropped."""

WANDERING = 1.4
"""Random moves at quality 0, per move of the near-optimal plan."""
MEAN_EXCURSION = 10
MEAN_CHUNK = 6
"""Average number of plan moves between two excursions."""


def plan(state: Grid, rng: np.random.Generator, quality: float) -> Actions:
    """Actions that solve `state`.

    At quality q the player leaves its plan for random excursions (walks and harmless pushes)
    of about `1 - q` times the plan's length in total, and replans after each.

    Raises:
        UnsolvableError: the level has no solution.
        ExpertError: the search ran out of nodes.
    """
    board, boxes, player = read_board(state)
    if player < 0 or len(boxes) != len(board.goals):
        raise ExpertError("the grid is not a Sokoban state: it needs a player and a goal per box")
    best = _solve(board, boxes, player, ATTEMPTS[len(boxes) >= MANY_BOXES :])
    if quality >= 1.0 or not len(best):
        return best
    budget = round((1.0 - quality) * WANDERING * len(best) * rng.uniform(0.5, 1.5))
    return _wandering_plan(board, boxes, player, best, budget, rng)


def shortest_walks(state: Grid, actions: Actions) -> Actions:
    """The pushes of `actions` with a shortest walk to each."""
    board, boxes, player = read_board(state)
    pushes = pushes_of_moves(board, boxes, player, actions)
    return np.asarray(moves_of_pushes(board, boxes, player, pushes), dtype=np.int64)


def _wandering_plan(
    board: Board,
    boxes: Cells,
    player: int,
    moves: Actions,
    budget: int,
    rng: np.random.Generator,
) -> Actions:
    """`moves` interspersed with excursions of `budget` random moves in total."""
    done: list[Actions] = []
    while budget > 0 and len(moves):
        chunk = min(int(rng.geometric(1 / MEAN_CHUNK)) - 1, len(moves) - 1)
        done.append(moves[:chunk])
        boxes, player = advance(board, boxes, player, moves[:chunk])
        moves = moves[chunk:]
        steps = min(budget, int(rng.geometric(1 / MEAN_EXCURSION)))
        budget -= steps
        excursion = wander(board, boxes, player, steps, int(rng.integers(1 << 62)))
        boxes_after, player_after = advance(board, boxes, player, excursion)
        try:
            moves = _solve(board, boxes_after, player_after, REPLANNING)
        except ExpertError:
            continue  # Replanning failed: drop the excursion.
        done.append(excursion)
        boxes, player = boxes_after, player_after
    return np.concatenate([*done, moves]).astype(np.int64)


def _solve(
    board: Board, boxes: Cells, player: int, attempts: tuple[tuple[int, bool, int], ...]
) -> Actions:
    """The plan of the first attempt that finds one."""
    for weight, exact, max_nodes in attempts:
        outcome, pushes = search(board, boxes, player, weight, exact, max_nodes)
        if outcome == SOLVED:
            return np.asarray(moves_of_pushes(board, boxes, player, pushes), dtype=np.int64)
        if outcome == UNSOLVABLE:
            raise UnsolvableError("the level has no solution: every reachable state was searched")
    raise ExpertError(
        f"no plan within {attempts[-1][2]:,} states; the level may still have a solution"
    )
