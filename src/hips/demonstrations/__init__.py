"""Demonstrations: datasets of verified plans, how they are collected, kept and exchanged."""

from __future__ import annotations

from hips.demonstrations.collect import Progress, collect
from hips.demonstrations.dataset import Demonstrations, Split, Trajectories, concatenate
from hips.demonstrations.minari_io import export_minari, import_minari
from hips.demonstrations.storage import load, save

__all__ = [
    "Demonstrations",
    "Progress",
    "Split",
    "Trajectories",
    "collect",
    "concatenate",
    "export_minari",
    "import_minari",
    "load",
    "save",
]
