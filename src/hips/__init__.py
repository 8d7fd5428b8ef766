"""HIPS-ε: a complete planner for discrete puzzles that learns to jump."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hips._version import __version__

if TYPE_CHECKING:
    from hips.domains import check_domain
    from hips.planner.budget import Budget
    from hips.planner.outcomes import Outcome
    from hips.planner.planner import Planner, solve
    from hips.planner.result import Result

_LAZY = {
    "Budget": "hips.planner.budget",
    "Outcome": "hips.planner.outcomes",
    "Planner": "hips.planner.planner",
    "Result": "hips.planner.result",
    "check_domain": "hips.domains",
    "solve": "hips.planner.planner",
}
"""Public names and their modules; `import hips` loads none of them until they are used."""

__all__ = [
    "Budget",
    "Outcome",
    "Planner",
    "Result",
    "__version__",
    "check_domain",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'hips' has no attribute '{name}'")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
