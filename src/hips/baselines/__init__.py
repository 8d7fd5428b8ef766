"""Planners made by others, for comparison: each a function from a level to a `Result`."""

from hips.baselines.fast_downward import is_installed, lama

__all__ = ["is_installed", "lama"]
