"""Engines run tasks. Tasks take and return plain data; the caller writes files."""

from __future__ import annotations

from hips.engines.base import Engine
from hips.engines.local import LocalEngine

__all__ = ["Engine", "LocalEngine"]
