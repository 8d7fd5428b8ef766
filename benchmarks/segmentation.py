"""How good segmentations are: the paper's objective against its exact optimum.

    python -m benchmarks segmentation [--domain NAME] [--quality Q] [--steps N] [--cut-loops]

Trains a reach policy by imitation on fresh demonstrations, then, from the same policy, the
alternation and the detector for the same number of steps; last, a detector learns from exact
values under the alternation's policy. Prints Σ log π − α per subgoal of
held-out trajectories, the optimum under the same policy, and the mean length of a segment.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hips import domains
from hips.domains.base import parse_quality

if TYPE_CHECKING:
    from hips.arrays import Floats, Ints
    from hips.data.dataset import Trajectories

DEMONSTRATIONS, HELD_OUT = 600, 32
FIXED = 6


def main() -> None:
    import torch

    from hips import parts
    from hips.parts.detector import distillation
    from hips.parts.detector import train as detector
    from hips.parts.detector.adapter import LearnedDetector
    from hips.parts.reach_policy import alternation
    from hips.parts.reach_policy import train as imitation
    from hips.training.corpus import Corpus
    from hips.training.loop import Stage, StageRun
    from hips.training.loops import without_loops
    from hips.training.pipeline import build_networks
    from hips.training.process_group import ProcessGroup
    from hips.training.progress import Reporter
    from hips.training.recipes import configure
    from hips.training.scoring import held_out
    from hips.training.segments import event_following, mean_segment
    from hips.training.workshop import Workshop

    arguments = _arguments()
    torch.set_num_threads(1)
    domain, known = domains.create(arguments.domain), parts.known()
    steps = arguments.steps
    shorter = [
        f"reach_policy.imitation.steps={10 * steps}",
        *(f"{stage}.steps={steps}" for stage in ("reach_policy.alternation", "detector.training")),
        *(
            f"{stage}.validate_every={10 * steps}"
            for stage in ("reach_policy.imitation", "reach_policy.alternation", "detector.training")
        ),
        f"detector.distillation.steps={5 * steps}",
        f"detector.distillation.validate_every={5 * steps}",
        f"detector.distilled={DEMONSTRATIONS}",
    ]
    names = ("reach_policy", "detector")
    config = configure(domain, known, names, "laptop", 0, None, [*shorter, *arguments.config])
    quality = parse_quality(arguments.quality)
    train, valid = (
        held_out(domain, n, s, quality) for n, s in ((DEMONSTRATIONS, 1), (HELD_OUT, 2))
    )
    if arguments.cut_loops:
        train, valid = without_loops(train), without_loops(valid)
    group = ProcessGroup(0, 1, torch.device("cpu"))

    with tempfile.TemporaryDirectory() as folder:
        networks = build_networks({name: known[name] for name in names}, config, domain.spec)
        shop = Workshop(
            domain, config, known, networks, Corpus.build(train, domain),
            Corpus.build(valid, domain), None, Path(folder), group, print,
        )  # fmt: skip

        def run(name: str, stage: Stage) -> None:
            StageRun(name, stage, Path(folder), 0, Reporter(None), group).run()

        def log_pi() -> Floats:
            policy = networks["reach_policy"].eval()
            return alternation.frozen_log_pi(policy, valid, config.horizon)  # type: ignore[arg-type]

        table = _Table(valid, config.segmentation.penalty)
        run("imitation", imitation.build(shop))
        values, imitated = log_pi(), copy.deepcopy(networks["reach_policy"].state_dict())
        last = np.repeat(valid.offsets[1:] - 1, np.diff(valid.offsets))
        length = min(FIXED, config.horizon)
        events = event_following(domain, valid.states, valid.offsets, config.horizon)
        table.row("exact, policy by imitation", values, table.best(values))
        table.row(f"fixed, {length} steps", values, np.minimum(np.arange(len(last)) + length, last))
        table.row("events", values, events)
        run("alternation", alternation.build(shop))
        values, alternated = log_pi(), copy.deepcopy(networks["reach_policy"].state_dict())
        untrained = copy.deepcopy(networks["detector"].state_dict())
        table.row("alternating", values, table.best(values))
        networks["reach_policy"].load_state_dict(imitated)
        stage = detector.build(shop)
        run("detector", stage)
        found = stage.following(valid)
        table.row("detector, REINFORCE", log_pi(), found)
        networks["reach_policy"].load_state_dict(alternated)
        networks["detector"].load_state_dict(untrained)
        run("distillation", distillation.build(shop))
        judge = LearnedDetector(shop.runtime("detector"))
        table.row("distilled, same policy", values, judge.following(valid, config.horizon))
        print(f"mean length of a demonstration: {mean_segment(last, valid.offsets):.1f}")


class _Table:
    """Rows of segmentations of the same trajectories."""

    def __init__(self, data: Trajectories, penalty: float) -> None:
        self.data, self.penalty = data, penalty
        print(
            f"{'segmentation':<28}{'objective':>11}{'optimum':>9}{'distance %':>12}{'segment':>9}"
        )

    def best(self, log_pi: Floats) -> Ints:
        from hips.training.segments import best_segmentation

        return best_segmentation(log_pi, self.data.offsets, self.penalty)[0]

    def row(self, name: str, log_pi: Floats, following: Ints) -> None:
        from hips.training.segments import mean_objective, mean_segment

        offsets, penalty = self.data.offsets, self.penalty
        found = mean_objective(log_pi, following, offsets, penalty)
        best = mean_objective(log_pi, self.best(log_pi), offsets, penalty)
        distance = 100 * (best - found) / abs(best)
        length = mean_segment(following, offsets)
        print(f"{name:<28}{found:>11.2f}{best:>9.2f}{distance:>12.0f}{length:>9.2f}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--domain", default="sokoban")
    parser.add_argument("--quality", default="paper")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--cut-loops", action="store_true", help="as the paper's rules do")
    parser.add_argument("--config", action="append", default=[], help="a setting of the training")
    return parser.parse_args()


if __name__ == "__main__":
    main()
