"""How fast subgoals are learned: share reconstructed exactly after some steps of the autoencoder.

    python -m benchmarks subgoal_learning [--domain NAME] [--steps N] [--config NAME=VALUE …]

Trains the continuous autoencoder at laptop size on fresh demonstrations, on one core. Compare two
settings by two calls, e.g. with and without `--config subgoals.changes=true`.
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

    from hips import parts
    from hips.parts.subgoals.network import build
    from hips.parts.subgoals.train import ReconstructionObjective
    from hips.training.corpus import Corpus
    from hips.training.recipes import configure
    from hips.training.scoring import held_out
    from hips.training.segments import event_following
    from hips.training.workshop import SubgoalPairs

    arguments = _arguments()
    torch.set_num_threads(1)
    domain = domains.create(arguments.domain)
    config = configure(domain, parts.known(), (), "laptop", 0, None, arguments.config)
    own = config.parts["subgoals"]
    found = held_out(domain, DEMONSTRATIONS, 0, 1.0)
    corpus = Corpus.build(found, domain)
    ahead = config.segmentation.ahead
    following = event_following(domain, found.states, found.offsets, config.horizon, ahead)
    pairs = SubgoalPairs(corpus, following)
    torch.manual_seed(0)
    objective = ReconstructionObjective(build(domain.spec, own, config.horizon), False)
    optimizer = torch.optim.Adam(objective.parameters(), lr=own.continuous.learning_rate)
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
    parser.add_argument("--config", action="append", default=[], help="a setting of the training")
    return parser.parse_args()


if __name__ == "__main__":
    main()
