"""Training: demonstrations in, a model bundle out, stage by stage and resumable."""
