"""Compiled weighted A* over pushes, the search behind the expert.

A node is the set of box cells and the player's cell. The player is either *exact* (g counts
moves: short plans) or *normalised* to the first cell of its region (g counts pushes: far fewer
nodes, for levels the exact search cannot finish).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from hips.domains.sokoban.board import FAR, Board, Cells, Flags, is_frozen, pushes_needed
from hips.domains.sokoban.generator import mix

SOLVED, UNSOLVABLE, OUT_OF_NODES = 0, 1, 2
NUM_BUCKETS = 1 << 14

Indices = npt.NDArray[np.int32]


class Nodes(NamedTuple):
    """All nodes of a search, in order of creation, and the hash table over them.

    `pushed` is the cell a box was pushed from, `direction` the push; the root has parent -1.
    """

    boxes: npt.NDArray[np.int16]  # [nodes, boxes], ascending
    players: npt.NDArray[np.int16]
    costs: Indices
    bounds: Indices
    parents: Indices
    pushed: npt.NDArray[np.int16]
    direction: npt.NDArray[np.int8]
    slots: Indices  # hash table of node indices, -1 empty; a power of two long


class Queue(NamedTuple):
    """Open list in buckets of equal f, newest first; an entry is stale once its g is beaten."""

    first: Indices  # [buckets], newest entry or -1
    following: Indices  # [entries]
    node: Indices
    cost: Indices


class Scratch(NamedTuple):
    """Working memory of an expansion."""

    occupied: Flags  # [cells], walls and boxes
    reached: Indices  # [cells], walking distance of the last flood, or -1
    region: Indices  # [cells], the same for another flood
    line: Cells  # [cells], the queue of a flood
    boxes: Cells  # [boxes]
    frozen: Flags  # [cells], all False


@njit(cache=True, nogil=True)
def search(
    board: Board, boxes: Cells, player: int, weight: int, exact: bool, max_nodes: int
) -> tuple[int, Cells]:
    """Best-first search with f = 2 g + weight · h.

    Returns:
        The outcome, and the pushes of a plan as rows `(cell of the box, direction)`.
    """
    nodes, queue, scratch = _allocate(board, boxes, max_nodes)
    pushes = np.empty((0, 2), dtype=np.int64)
    bound = pushes_needed(board, boxes)
    if player < 0 or bound >= FAR or is_frozen(board, boxes, scratch.frozen):
        return UNSOLVABLE, pushes
    if not exact:
        _set_boxes(scratch.occupied, boxes, True)
        player = _region_name(board, player, scratch)
        _set_boxes(scratch.occupied, boxes, False)
    _enter(nodes, 0, boxes, player)
    nodes.costs[0], nodes.bounds[0], nodes.parents[0] = 0, bound, -1
    num_nodes, num_entries = 1, _push(queue, 0, 0, 0, weight * bound)
    lowest = 0
    while True:
        while lowest < NUM_BUCKETS and queue.first[lowest] < 0:
            lowest += 1
        if lowest == NUM_BUCKETS:
            return UNSOLVABLE, pushes
        entry = queue.first[lowest]
        queue.first[lowest] = queue.following[entry]
        node = queue.node[entry]
        if queue.cost[entry] != nodes.costs[node]:
            continue
        if nodes.bounds[node] == 0:
            return SOLVED, _trace(nodes, node)
        if num_nodes + 4 * len(boxes) > max_nodes or (
            num_entries + 4 * len(boxes) > len(queue.node)
        ):
            return OUT_OF_NODES, pushes
        num_nodes, num_entries, lowest = _expand(
            board, nodes, queue, scratch, node, weight, exact, num_nodes, num_entries, lowest
        )


@njit(cache=True, nogil=True)
def _allocate(board: Board, boxes: Cells, max_nodes: int) -> tuple[Nodes, Queue, Scratch]:
    num_slots = 1
    while num_slots < 2 * max_nodes:
        num_slots *= 2
    nodes = Nodes(
        np.empty((max_nodes, len(boxes)), dtype=np.int16),
        np.empty(max_nodes, dtype=np.int16),
        np.empty(max_nodes, dtype=np.int32),
        np.empty(max_nodes, dtype=np.int32),
        np.empty(max_nodes, dtype=np.int32),
        np.empty(max_nodes, dtype=np.int16),
        np.empty(max_nodes, dtype=np.int8),
        np.full(num_slots, -1, dtype=np.int32),
    )
    queue = Queue(
        np.full(NUM_BUCKETS, -1, dtype=np.int32),
        np.empty(2 * max_nodes, dtype=np.int32),
        np.empty(2 * max_nodes, dtype=np.int32),
        np.empty(2 * max_nodes, dtype=np.int32),
    )
    scratch = Scratch(
        board.walls.copy(),
        np.empty(board.walls.size, dtype=np.int32),
        np.empty(board.walls.size, dtype=np.int32),
        np.empty(board.walls.size, dtype=np.int64),
        np.empty(len(boxes), dtype=np.int64),
        np.zeros(board.walls.size, dtype=np.bool_),
    )
    return nodes, queue, scratch


@njit(cache=True, nogil=True)
def _push(queue: Queue, entry: int, node: int, cost: int, f: int) -> int:
    """Opens a node and returns the number of entries so far."""
    bucket = min(f, NUM_BUCKETS - 1)
    queue.following[entry] = queue.first[bucket]
    queue.node[entry], queue.cost[entry] = node, cost
    queue.first[bucket] = entry
    return entry + 1


@njit(cache=True, nogil=True)
def walk_distances(
    board: Board, occupied: Flags, player: int, reached: Indices, line: Cells
) -> None:
    """Walking distances from `player` to all cells, -1 where unreachable."""
    reached[:] = -1
    reached[player] = 0
    line[0] = player
    head, tail = 0, 1
    while head < tail:
        cell = line[head]
        head += 1
        for offset in board.offsets:
            beside = cell + offset
            if reached[beside] < 0 and not occupied[beside]:
                reached[beside] = reached[cell] + 1
                line[tail] = beside
                tail += 1


@njit(cache=True, nogil=True)
def _set_boxes(occupied: Flags, boxes: Cells, value: bool) -> None:
    for box in boxes:
        occupied[box] = value


@njit(cache=True, nogil=True)
def _region_name(board: Board, player: int, scratch: Scratch) -> int:
    """The first cell, in reading order, that the player can walk to."""
    walk_distances(board, scratch.occupied, player, scratch.region, scratch.line)
    for cell in range(scratch.region.size):
        if scratch.region[cell] >= 0:
            return cell
    return player


@njit(cache=True, nogil=True)
def _find(nodes: Nodes, boxes: Cells, player: int) -> int:
    """The hash-table slot of these boxes and player, or a free one for them."""
    key = mix(np.uint64(player))
    for box in boxes:
        key = mix(key + np.uint64(box))
    mask = len(nodes.slots) - 1
    slot = int(np.int64(key & np.uint64(mask)))
    while nodes.slots[slot] >= 0:
        node = nodes.slots[slot]
        same = nodes.players[node] == player
        for i in range(len(boxes)):
            same = same and nodes.boxes[node, i] == boxes[i]
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _enter(nodes: Nodes, node: int, boxes: Cells, player: int) -> None:
    nodes.boxes[node, :] = boxes
    nodes.players[node] = player
    nodes.slots[_find(nodes, boxes, player)] = node


@njit(cache=True, nogil=True)
def _moved(boxes: Cells, index: int, to: int, result: Cells) -> None:
    """Writes `boxes` with one of them moved, still ascending, to `result`."""
    result[:] = boxes
    result[index] = to
    while index > 0 and result[index - 1] > result[index]:
        result[index - 1], result[index] = result[index], result[index - 1]
        index -= 1
    while index < len(result) - 1 and result[index + 1] < result[index]:
        result[index + 1], result[index] = result[index], result[index + 1]
        index += 1


@njit(cache=True, nogil=True)
def _expand(
    board: Board,
    nodes: Nodes,
    queue: Queue,
    scratch: Scratch,
    node: int,
    weight: int,
    exact: bool,
    num_nodes: int,
    num_entries: int,
    lowest: int,
) -> tuple[int, int, int]:
    """Opens all children of `node`; returns the counts of nodes and entries, and the lowest f."""
    boxes = nodes.boxes[node].astype(np.int64)
    _set_boxes(scratch.occupied, boxes, True)
    walk_distances(board, scratch.occupied, nodes.players[node], scratch.reached, scratch.line)
    for index in range(len(boxes)):
        for direction in range(4):
            box, offset = boxes[index], board.offsets[direction]
            to = box + offset
            if scratch.reached[box - offset] < 0 or scratch.occupied[to] or board.dead[to]:
                continue
            _moved(boxes, index, to, scratch.boxes)
            player = box
            if not exact:
                scratch.occupied[box], scratch.occupied[to] = False, True
                player = _region_name(board, box, scratch)
                scratch.occupied[box], scratch.occupied[to] = True, False
            cost = nodes.costs[node] + 1 + (scratch.reached[box - offset] if exact else 0)
            slot = _find(nodes, scratch.boxes, player)
            child = nodes.slots[slot]
            if child < 0:
                if is_frozen(board, scratch.boxes, scratch.frozen):
                    continue
                bound = pushes_needed(board, scratch.boxes)
                if bound >= FAR:
                    continue
                child = num_nodes
                num_nodes += 1
                nodes.boxes[child, :] = scratch.boxes
                nodes.players[child] = player
                nodes.bounds[child] = bound
                nodes.slots[slot] = child
            elif nodes.costs[child] <= cost:
                continue
            nodes.costs[child], nodes.parents[child] = cost, node
            nodes.pushed[child], nodes.direction[child] = box, direction
            f = 2 * cost + weight * nodes.bounds[child]
            num_entries = _push(queue, num_entries, child, cost, f)
            lowest = min(lowest, f)
    _set_boxes(scratch.occupied, boxes, False)
    return num_nodes, num_entries, lowest


@njit(cache=True, nogil=True)
def _trace(nodes: Nodes, node: int) -> Cells:
    """The pushes from the root to `node`."""
    length = 0
    at = node
    while nodes.parents[at] >= 0:
        length += 1
        at = nodes.parents[at]
    pushes = np.empty((length, 2), dtype=np.int64)
    at = node
    while length > 0:
        length -= 1
        pushes[length, 0], pushes[length, 1] = nodes.pushed[at], nodes.direction[at]
        at = nodes.parents[at]
    return pushes


@njit(cache=True, nogil=True)
def moves_of_pushes(board: Board, boxes: Cells, player: int, pushes: Cells) -> Cells:
    """The actions that make the pushes, with a shortest walk to each."""
    occupied = board.walls.copy()
    _set_boxes(occupied, boxes, True)
    reached = np.empty(occupied.size, dtype=np.int32)
    line = np.empty(occupied.size, dtype=np.int64)
    moves = np.empty(len(pushes) * (occupied.size + 1), dtype=np.int64)
    count = 0
    for k in range(len(pushes)):
        box, offset = pushes[k, 0], board.offsets[pushes[k, 1]]
        # Distances to where the player must stand, so that the walk can be read off forwards.
        walk_distances(board, occupied, box - offset, reached, line)
        while reached[player] > 0:
            for action in range(4):
                beside = player + board.offsets[action]
                if reached[beside] == reached[player] - 1:
                    player = beside
                    moves[count] = action
                    count += 1
                    break
        moves[count] = pushes[k, 1]
        count += 1
        occupied[box], occupied[box + offset] = False, True
        player = box
    return moves[:count].copy()


@njit(cache=True, nogil=True)
def pushes_of_moves(board: Board, boxes: Cells, player: int, moves: Cells) -> Cells:
    """The pushes among moves, as rows `(cell of the box, direction)`."""
    occupied = board.walls.copy()
    _set_boxes(occupied, boxes, True)
    pushes = np.empty((len(moves), 2), dtype=np.int64)
    count = 0
    for move in moves:
        to, beyond = player + board.offsets[move], player + 2 * board.offsets[move]
        if board.walls[to] or (occupied[to] and occupied[beyond]):
            continue
        if occupied[to]:
            occupied[to], occupied[beyond] = False, True
            pushes[count, 0], pushes[count, 1] = to, move
            count += 1
        player = to
    return pushes[:count].copy()
