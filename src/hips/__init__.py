"""HIPS-ε: a complete planner for discrete puzzles that learns to jump."""

from __future__ import annotations

from hips._version import __version__

__all__ = ["__version__"]
