"""Trained models: the card, the bundle on disk and a runtime without torch."""
