"""Shared building blocks of the parts' networks."""
