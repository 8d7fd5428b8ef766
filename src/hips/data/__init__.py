"""Demonstrations: collecting, storing and exchanging datasets of verified plans."""

from __future__ import annotations

from hips.data.collect import Progress, collect
from hips.data.dataset import Demonstrations, Split, Trajectories, concatenate
from hips.data.minari_io import export_minari, import_minari
from hips.data.own_plans import OwnPlans, advice, read_plans
from hips.data.storage import load, save

__all__ = [
    "Demonstrations",
    "OwnPlans",
    "Progress",
    "Split",
    "Trajectories",
    "advice",
    "collect",
    "concatenate",
    "export_minari",
    "import_minari",
    "load",
    "read_plans",
    "save",
]
