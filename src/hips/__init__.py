"""HIPS-ε: a complete planner for discrete puzzles with learned subgoals."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hips._version import __version__

if TYPE_CHECKING:
    from hips import data, domains, methods
    from hips.domains import check_domain
    from hips.methods.planner import Planner, solve
    from hips.planner.budget import Budget
    from hips.planner.outcomes import Outcome
    from hips.planner.result import Result
    from hips.planner.rounds import Observer
    from hips.planner.settings import Settings
    from hips.planner.tree import TreeRecorder

_LAZY = {
    "Budget": "hips.planner.budget",
    "Observer": "hips.planner.rounds",
    "Outcome": "hips.planner.outcomes",
    "Planner": "hips.methods.planner",
    "Result": "hips.planner.result",
    "Settings": "hips.planner.settings",
    "TreeRecorder": "hips.planner.tree",
    "check_domain": "hips.domains",
    "solve": "hips.methods.planner",
}
"""Public names and their modules, which `import hips` loads lazily."""
_MODULES = ("data", "domains", "methods")

__all__ = [
    "Budget",
    "Observer",
    "Outcome",
    "Planner",
    "Result",
    "Settings",
    "TreeRecorder",
    "__version__",
    "check_domain",
    "data",
    "domains",
    "methods",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"hips.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'hips' has no attribute '{name}'")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
