"""Hand-made results whose statistics can be worked out on paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hips._version import __version__
from hips.benchmark import lines
from hips.domains import create
from tests.benchmark.conftest import SIZE, toy_catalogue

HIPS = "hips evaluation=phs_hat dynamics=true top_p=1"
HIPS_EPS = "hips_eps evaluation=phs_hat epsilon=0.001 dynamics=true top_p=1"
PHS = "phs_star evaluation=phs_star dynamics=true"
ROWS = {"phs_star": PHS, "hips": HIPS, "hips_eps": HIPS_EPS}
"""What the rows stood for when they were run."""
SUITES = ("line", "long")


def run_line(index: int, configuration: str, cost: int | None, **changes: Any) -> dict[str, Any]:
    """A run on instance `index`, solved after `cost` expansions or given up after 40."""
    domain = create("line_world")
    start = index % 6
    length = None if cost is None else 7 - start
    low = 1 if configuration != HIPS and length else 0
    segments = [{"kind": "action", "label": "right", "steps": 1}] * low
    if length is not None:
        segments = [*segments, {"kind": "subgoal", "label": "1", "steps": length - low}]
    complete = configuration != HIPS
    gave_up = "OUT_OF_EXPANSIONS" if complete else "UNSOLVED_INCOMPLETE"
    expansions = cost or (40 if complete else 7)
    return {
        "format": lines.FORMAT,
        "type": "run",
        "version": __version__,
        "invocation": "stored",
        "suite": "line",
        "source": "development",
        "domain": "line_world",
        "parameters": domain.parameters(),
        "seed": index // 4,
        "index": index % 4,
        "instance": f"{index:064x}",
        "level": "0" * start + "1" + "0" * (7 - start),
        "variant": "any",
        "method": configuration.split()[0],
        "settings": {},
        "configuration": configuration,
        "model": None,
        "timed": False,
        "limit_expansions": SIZE["expansions"],
        "limit_seconds": None,
        "outcome": gave_up if cost is None else "SOLVED",
        "plan": ["right"] * (length or 0),
        "length": length,
        "segments": segments,
        "expansions": expansions,
        "subgoal_expansions": expansions - 1 - low,
        "action_expansions": low,
        "generated": 3 * expansions,
        "network_rows": 10 * expansions,
        "dynamics_rows": 0,
        "dynamics_calls": 0,
        "environment_steps": 5 * expansions,
        "replans": 0,
        "clamped": 0,
        "seconds": expansions / 10,
        "elapsed_seconds": expansions / 10,
        "phases": {},
        "peak_bytes": 1000,
        "action_profile": [0, low][: 1 if expansions < 2 else 2],
        "message": "",
        "machine": {},
        "note": "",
        **changes,
    }


def invocation_line(**changes: Any) -> dict[str, Any]:
    return {
        "format": lines.FORMAT,
        "type": "invocation",
        "version": __version__,
        "invocation": "stored",
        "started": "2026-01-01T00:00:00+0000",
        "command": "hips bench three",
        "experiments": ["three"],
        "rules": "full",
        "sealed": False,
        "catalogue": toy_catalogue(),
        "size": SIZE,
        "seeds": [0, 1],
        "sources": {"line": "development", "long": "development"},
        "configurations": {suite: {name: [one] for name, one in ROWS.items()} for suite in SUITES},
        "added": [],
        "skipped": [{"suite": "long", "variant": "hips", "reason": "no model 'x' is installed"}],
        "environment": {"python": "3.11", "cores": 2},
        **changes,
    }


COSTS: dict[str, list[int | None]] = {
    HIPS: [1, 2, 3, None, None, 2, 8, None],
    HIPS_EPS: [1, 1, 3, 30, 20, 2, 5, None],
    PHS: [10, 20, None, None, None, 15, 30, None],
}


def stored_lines() -> list[dict[str, Any]]:
    """Three methods on two seeds of four instances."""
    found = [invocation_line()]
    for configuration, costs in COSTS.items():
        found += [run_line(index, configuration, cost) for index, cost in enumerate(costs)]
    return found


def write(folder: Path, content: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / lines.FILE
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in content))
    return folder
