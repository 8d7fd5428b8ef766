"""Benchmarks: suites of instances, variants of methods, metrics and reports."""
