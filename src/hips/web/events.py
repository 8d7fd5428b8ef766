"""Rounds and results of a search as JSON for the page."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from hips.domains.base import Domain
from hips.planner.result import Result
from hips.planner.rounds import Round
from hips.planner.tree import Proposal, TreeNode, accepted_children, rejected_proposals
from hips.web.problems import encode

KINDS = ("root", "subgoal", "action")
DIGITS = 5


def server_sent(name: str, content: Any) -> bytes:
    """One server-sent event."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f"event: {name}\ndata: {text}\n\n".encode()


@dataclass(slots=True)
class RoundWriter:
    """Writes the rounds of a single search.

    Attributes:
        domain: the domain at the size of the level.
        max_nodes: nodes to send; the page learns of further ones only by number.
        sent: nodes sent so far.
        expansions: expanded nodes seen so far.
    """

    domain: Domain
    max_nodes: int
    sent: int = 0
    expansions: int = 0

    def write(self, round: Round) -> list[dict[str, Any]]:
        """One round: every expanded node with its children and its rejected proposals."""
        children = list(accepted_children(self.domain, round))
        rejected = list(rejected_proposals(round))
        return [
            self._write_node(
                round,
                row,
                [child for parent, child in children if parent == row],
                [proposal for parent, proposal in rejected if parent == row],
            )
            for row in range(len(round.expanded.nodes))
        ]

    def _write_node(
        self, round: Round, row: int, children: list[TreeNode], rejected: list[Proposal]
    ) -> dict[str, Any]:
        self.expansions += 1
        if self.sent + len(children) > self.max_nodes:
            children = [child for child in children if child.goal]
        self.sent += len(children)
        full = self.sent > self.max_nodes
        expanded = round.expanded
        return {
            "order": self.expansions,
            "node": int(expanded.nodes[row]),
            "parent": int(expanded.parents[row]),
            "steps": int(expanded.steps[row]),
            "h": number(float(expanded.h[row])),
            "key": number(float(expanded.keys[row])),
            "open": int(round.open_nodes[row]),
            "offered": int((round.offered.parents == row).sum()),
            "state": encode(expanded.states[row]) if self.expansions == 1 else None,
            "children": [_row(child) for child in children],
            "rejected": []
            if full
            else [[p.label, number(p.probability), p.reason, encode(p.state)] for p in rejected],
        }


def _row(node: TreeNode) -> list[Any]:
    """A child as a list; the page reads it by position."""
    return [
        node.number,
        KINDS.index(node.kind),
        node.label,
        node.g,
        node.steps,
        node.length,
        number(node.probability),
        number(node.log_pi),
        number(node.h),
        int(node.guessed),
        None if node.key is None else number(node.key),
        node.tier,
        int(node.goal),
        encode(node.state),
        int(node.pending),
    ]


def result_event(result: Result, max_frames: int) -> dict[str, Any]:
    """A result, with the states of its plan and the plan in the domain's formats."""
    content = {**result.to_json(), "subgoal_steps": list(result.subgoal_steps)}
    content["segments"] = [asdict(segment) for segment in result.segments]
    content["states"], content["formats"] = [], {}
    if result.solved and result.domain is not None and result.start is not None:
        if len(result.plan) < max_frames:
            content["states"] = [encode(state) for state in result.states]
        actions = result.domain.spec.action_indices(result.plan)
        content["formats"] = dict(result.domain.plan_formats(result.start, actions))
    return content


def number(value: float) -> float | None:
    """A short JSON number; None if it is not finite."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
