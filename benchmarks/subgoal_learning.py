"""How fast subgoals are learnt: share reconstructed exactly after some steps of the autoencoder.

    python -m benchmarks subgoal_learning [--domain NAME] [--steps N] [--set NAME=VALUE …]

Trains the continuous autoencoder at laptop size on fresh demonstrations, on one core. Compare two
settings by two calls, e.g. with and without `--set network.changes=False`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from hips import domains
from hips.seeding import stream

DEMONSTRATIONS = 800
BATCH = 128
REPORTS = 5


def main() -> None:
    import torch

    from hips.benchmark.validation import held_out
    from hips.models.segments import event_following
    from hips.training.config import default_config, override
    from hips.training.corpus import Corpus
    from hips.training.networks import build_networks
    from hips.training.subgoals import ReconstructionObjective, SubgoalPairs

    arguments = _arguments()
    torch.set_num_threads(1)
    domain = domains.create(arguments.domain)
    config = override(default_config(domain, "laptop"), arguments.set)
    found = held_out(domain, DEMONSTRATIONS, 0, 1.0)
    corpus = Corpus.build(found, domain)
    following = event_following(domain, found.states, found.offsets, config.horizon, config.events)
    pairs = SubgoalPairs(corpus, following)
    objective = ReconstructionObjective(build_networks(domain.spec, config).subgoals, False)
    optimizer = torch.optim.Adam(objective.parameters(), lr=config.autoencoder.learning_rate)
    rng, window, start = stream(0, "benchmark", "subgoals"), [], time.perf_counter()
    print(f"{'step':>6}{'nats':>9}{'exact %':>9}{'seconds':>9}")
    for step in range(1, arguments.steps + 1):
        loss, metrics = objective(pairs.draw(rng, BATCH))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        window.append((float(metrics["reconstruction"]), float(metrics["exact"])))
        if step % max(1, arguments.steps // REPORTS) == 0:
            nats, exact = np.mean(window, axis=0)
            passed = time.perf_counter() - start
            print(f"{step:>6}{nats:>9.3f}{100 * exact:>9.1f}{passed:>9.0f}", flush=True)
            window = []


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--domain", default="sliding_tiles")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--set", action="append", default=[], help="a setting of the training")
    return parser.parse_args()


if __name__ == "__main__":
    main()
