"""Training: from demonstrations to a model, stage by stage, resumable."""
