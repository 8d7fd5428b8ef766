"""Measurements: a model's validation scores, suites of instances, metrics and reports."""
