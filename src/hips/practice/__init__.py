"""Learning on: search levels, learn from what the searches met, keep the better model."""
