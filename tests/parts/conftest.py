from tests.training.conftest import config, corpus, demos, few_samples, one_thread, tiles

__all__ = ["config", "corpus", "demos", "few_samples", "one_thread", "tiles"]
