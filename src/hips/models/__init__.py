"""Trained models: the networks, the bundle on disk and a runtime that needs no torch."""
