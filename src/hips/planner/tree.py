"""The search tree recorded from rounds, as Python objects, JSON or Graphviz."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.planner.children import Fate
from hips.planner.result import Result
from hips.planner.rounds import Observer, Round

MAX_DRAWN = 500
"""Maximum number of nodes drawn by Graphviz."""


@dataclass(slots=True)
class TreeNode:
    """One node of a search tree.

    Attributes:
        number: unique within the tree.
        parent: number of its parent; None for the root.
        kind: `root`, `subgoal` or `action`.
        label: the subgoal's code, or the action's name.
        g: depth in nodes.
        steps: l, low-level steps from the root.
        length: low-level steps of the edge.
        probability: π(n | parent) of eq:pi.
        log_pi: log π of the whole path.
        h: estimated remaining steps.
        guessed: whether h was only derived from the parent's.
        key: evaluation; None for the root.
        tier: 1 for an action in the limit ε → 0; a lower tier is expanded first.
        goal: whether it is a goal.
        expanded: 1-based number of its expansion; None if not expanded.
        state: the grid.
        pending: whether its rollout was left for later, and it was not expanded: length, l and key
            are estimates.
        rejected: proposed subgoals that did not become children.
    """

    number: int
    parent: int | None
    kind: str
    label: str
    g: int
    steps: int
    length: int
    probability: float
    log_pi: float
    h: float
    guessed: bool
    key: float | None
    tier: int
    goal: bool
    expanded: int | None
    state: Grid
    pending: bool = False
    rejected: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Tree:
    """The tree of one search."""

    domain: Domain
    nodes: dict[int, TreeNode] = field(default_factory=dict)
    expansions: int = 0
    result: Result | None = None

    def to_json(self) -> dict[str, Any]:
        """The whole tree as JSON-compatible data; states in the domain's text format."""
        return {
            "domain": self.domain.name,
            "parameters": self.domain.parameters(),
            "result": None if self.result is None else self.result.to_json(),
            "nodes": [
                {**asdict(node), "state": self.domain.text(node.state)}
                for node in self.nodes.values()
            ],
        }

    def to_graphviz(self) -> str:
        """The expanded part of the tree and its goals in the DOT language; subgoal edges bold."""
        shown = [n for n in self.nodes.values() if n.expanded is not None or n.goal]
        lines = ["digraph search {", "  node [shape=box, fontname=monospace, fontsize=9];"]
        for node in shown[:MAX_DRAWN]:
            order = "" if node.expanded is None else f"#{node.expanded} "
            fill = ", style=filled, fillcolor=palegreen" if node.goal else ""
            text = f"{order}h={node.h:.1f}\\ng={node.g} l={node.steps}"
            lines.append(f'  n{node.number} [label="{text}"{fill}];')
        known = {node.number for node in shown[:MAX_DRAWN]}
        for node in shown[:MAX_DRAWN]:
            if node.parent in known:
                style = "bold" if node.kind == "subgoal" else "dashed"
                label = f"{node.label} ({node.length})" if node.length > 1 else node.label
                lines.append(
                    f'  n{node.parent} -> n{node.number} [style={style}, label="{label}"];'
                )
        return "\n".join([*lines, "}"]) + "\n"


class TreeRecorder(Observer):
    """Records the tree of every observed search in `trees`, by problem."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.trees: dict[int, Tree] = {}

    def on_round(self, round: Round) -> None:
        """Adds the children of the round to the trees of their problems."""
        expanded = round.expanded
        for row, problem in enumerate(expanded.problems.tolist()):
            tree = self.trees.setdefault(problem, Tree(self.domain))
            number = int(expanded.nodes[row])
            if number not in tree.nodes:
                tree.nodes[number] = root_node(number, expanded.states[row])
            tree.expansions += 1
            node = tree.nodes[number]
            node.expanded, node.h, node.guessed = tree.expansions, float(expanded.h[row]), False
            if node.parent is not None:
                node.parent, node.steps = int(expanded.parents[row]), int(expanded.steps[row])
                node.length = node.steps - tree.nodes[node.parent].steps
                node.key, node.pending = float(expanded.keys[row]), False
        for row, child in accepted_children(self.domain, round):
            self.trees[int(expanded.problems[row])].nodes[child.number] = child
        for row, proposal in rejected_proposals(round):
            tree = self.trees[int(expanded.problems[row])]
            tree.nodes[int(expanded.nodes[row])].rejected.append(
                {**asdict(proposal), "state": proposal.state.tolist()}
            )

    def on_result(self, index: int, result: Result) -> None:
        """Records the outcome of the search."""
        self.trees.setdefault(index, Tree(self.domain)).result = result


def accepted_children(domain: Domain, round: Round) -> Iterator[tuple[int, TreeNode]]:
    """The new or improved nodes of a round, each with the row of its parent in `expanded`."""
    offered = round.offered
    for place in np.flatnonzero(offered.accepted):
        row = int(offered.parents[place])
        kind = int(offered.kinds[place])
        yield (
            row,
            TreeNode(
                number=int(offered.nodes[place]),
                parent=int(round.expanded.nodes[row]),
                kind="subgoal" if kind >= 0 else "action",
                label=str(kind) if kind >= 0 else domain.spec.actions[~kind],
                g=int(offered.depths[place]),
                steps=int(offered.steps[place]),
                length=int(offered.lengths[place]),
                probability=math.exp(float(offered.log_probabilities[place])),
                log_pi=float(offered.log_pi[place]),
                h=float(offered.h[place]),
                guessed=bool(offered.guessed[place]),
                key=float(offered.keys[place]),
                tier=int(offered.tiers[place]),
                goal=bool(offered.goals[place]),
                expanded=None,
                state=offered.states[place],
                pending=bool(offered.pending[place]),
            ),
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed subgoal that did not become a child.

    Attributes:
        label: the subgoal's code.
        probability: π_SG of the code.
        reason: its `Fate` in lower case.
        state: the target.
    """

    label: str
    probability: float
    reason: str
    state: Grid


def rejected_proposals(round: Round) -> Iterator[tuple[int, Proposal]]:
    """The rejected proposals of a round, each with the row of its parent in `expanded`."""
    rejected = round.rejected
    if rejected is None:
        return
    for place, row in enumerate(rejected.parents.tolist()):
        yield (
            row,
            Proposal(
                str(int(rejected.codes[place])),
                math.exp(float(rejected.log_probabilities[place])),
                Fate(int(rejected.fates[place])).name.lower(),
                rejected.states[place],
            ),
        )


def root_node(number: int, state: Grid) -> TreeNode:
    """The root of a tree, before its expansion."""
    return TreeNode(
        number, None, "root", "", 0, 0, 0, 1.0, 0.0, 0.0, False, None, 0, False, None, state
    )
