"""Random walks with harmless pushes, for demonstrations of low quality."""

from __future__ import annotations

import numpy as np
from numba import njit

from hips.domains.sokoban.board import FAR, Board, Cells, Flags, is_frozen, pushes_needed
from hips.domains.sokoban.generator import draw, mix

MAX_TRIES = 8
"""Directions tried before a walk counts as stuck."""


@njit(cache=True, nogil=True)
def advance(board: Board, boxes: Cells, player: int, moves: Cells) -> tuple[Cells, int]:
    """Boxes (ascending) and player after legal `moves`."""
    after = boxes.copy()
    for move in moves:
        player += board.offsets[move]
        for i in range(len(after)):
            if after[i] == player:
                after[i] += board.offsets[move]
                break
    after.sort()
    return after, player


@njit(cache=True, nogil=True)
def wander(board: Board, boxes: Cells, player: int, steps: int, seed: int) -> Cells:
    """A random walk of at most `steps` moves that makes no push known to be fatal.

    It keeps its direction half of the time, to cover ground, and ends early if it solves the
    level or gets stuck.
    """
    random = np.full(1, mix(np.uint64(seed)), dtype=np.uint64)
    current = boxes.copy()
    trial = boxes.copy()
    frozen = np.zeros(board.walls.size, dtype=np.bool_)
    moves = np.empty(steps, dtype=np.int64)
    direction = draw(random, 4)
    for count in range(steps):
        moved = False
        for attempt in range(MAX_TRIES):
            if attempt > 0 or draw(random, 2) == 0:
                direction = draw(random, 4)
            trial[:] = current
            if _try_move(board, trial, player + board.offsets[direction], direction):
                is_push = (trial != current).any()
                if not is_push or _is_harmless(board, trial, frozen):
                    moved = True
                    break
        if not moved:
            return moves[:count].copy()
        player += board.offsets[direction]
        moves[count] = direction
        current[:] = trial
        if pushes_needed(board, current) == 0:
            return moves[: count + 1].copy()
    return moves


@njit(cache=True, nogil=True)
def _try_move(board: Board, boxes: Cells, to: int, direction: int) -> bool:
    """Pushes the box at `to`, if any, by one square; False if the player cannot go there."""
    if board.walls[to]:
        return False
    beyond = to + board.offsets[direction]
    pushed, is_free = -1, not board.walls[beyond]
    for i in range(len(boxes)):
        if boxes[i] == to:
            pushed = i
        if boxes[i] == beyond:
            is_free = False
    if pushed >= 0 and is_free:
        boxes[pushed] = beyond
    return pushed < 0 or is_free


@njit(cache=True, nogil=True)
def _is_harmless(board: Board, boxes: Cells, frozen: Flags) -> bool:
    if pushes_needed(board, boxes) >= FAR:
        return False
    return not is_frozen(board, boxes, frozen)
