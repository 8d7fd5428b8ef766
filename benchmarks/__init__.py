"""Measurements, as tables with ratios taken in one run. `python -m benchmarks` runs them all."""
