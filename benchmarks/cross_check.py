r"""CQL and the Decision Transformer against d3rlpy: same demonstrations, steps and instances.

    hips collect sliding_tiles --set height=3 --set width=3 --count 1500 --quality 0 --seed 3 \
        --out data/eight
    python -m benchmarks cross_check data/eight

d3rlpy pins another gymnasium than ours, so both need an environment of their own: install
torch==2.13.0, then d3rlpy, then this project with its extra `train`.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hips import data
from hips.seeding import stream

if TYPE_CHECKING:
    import numpy.typing as npt

    from hips.arrays import Actions, Grid, Grids
    from hips.data.dataset import Demonstrations
    from hips.domains.base import Domain

PUZZLES, MOST_STEPS = 300, 128
CQL_STEPS, CQL_BATCH = 4000, 128
DT_STEPS, DT_BATCH, CONTEXT = 3000, 16, 30

Act: TypeAlias = "Callable[[Grids], Actions]"


def main() -> None:
    arguments = _arguments()
    if importlib.util.find_spec("d3rlpy") is None:
        sys.stdout.write("skipped: d3rlpy is not installed; see the top of this file\n")
        return
    demonstrations = data.load(arguments.data)
    levels = list(demonstrations.domain.sample(stream(5, "test"), PUZZLES))
    theirs = {"cql": _their_cql, "dt": _their_dt}
    for name, ours in _our_success(demonstrations, arguments.data, levels).items():
        other = theirs[name](demonstrations, levels)
        sys.stdout.write(f"{name}: ours {ours:.1%}, d3rlpy {other:.1%} of {PUZZLES}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a dataset folder")
    return parser.parse_args()


def _our_success(
    demonstrations: Demonstrations, folder: Path, levels: list[Grid]
) -> dict[str, float]:
    """Shares of puzzles that our methods solve after the same numbers of steps."""
    from hips import parts
    from hips.methods.base import Execution
    from hips.methods.choosing import Choice
    from hips.methods.planner import Planner
    from hips.planner.budget import Budget
    from hips.planner.settings import from_values
    from hips.training.config import default_config, override
    from hips.training.run import TrainingJob, train

    domain = demonstrations.domain
    schedules = [f"cql.training.steps={CQL_STEPS}", f"cql.training.batch={CQL_BATCH}"]
    schedules += [f"dt.training.steps={DT_STEPS}", f"dt.training.batch={DT_BATCH}"]
    known = parts.known()
    config = default_config(domain, parts.known(["cql", "dt"]))
    config = override(config, [*schedules, "symmetries=none"])
    with tempfile.TemporaryDirectory() as out:
        train(TrainingJob(domain, config, known, Path(out), data=[folder], threads=1))
        found = {}
        for name in ("cql", "dt"):
            settings = from_values({"max_steps": str(MOST_STEPS)})
            execution = Execution(batch=64)
            choice = Choice(name, settings, model=str(Path(out) / "model"), execution=execution)
            results = Planner(domain, choice).solve_many(levels, Budget())
            found[name] = float(np.mean([result.solved for result in results]))
    return found


def _planes(states: Grids, symbols: int) -> npt.NDArray[np.float32]:
    """One-hot symbols as a vector, `[B, H · W · symbols]`."""
    return np.eye(symbols, dtype=np.float32)[states].reshape(len(states), -1)


def _their_dataset(
    demonstrations: Demonstrations, last: float, other: float, **options: Any
) -> Any:
    """An MDP dataset with the reward `last` on reaching the goal and `other` elsewhere."""
    import d3rlpy

    spec, runs = demonstrations.domain.spec, demonstrations.trajectories("train")
    acting = runs.actions >= 0
    ends = np.zeros(len(runs.actions), dtype=np.float32)
    ends[runs.offsets[1:] - 2] = 1.0
    return d3rlpy.dataset.MDPDataset(
        _planes(runs.states[acting], spec.num_symbols),
        runs.actions[acting][:, None],
        np.where(ends[acting] > 0, last, other).astype(np.float32),
        ends[acting],
        action_space=d3rlpy.ActionSpace.DISCRETE,
        action_size=spec.num_actions,
        **options,
    )


def _their_cql(demonstrations: Demonstrations, levels: list[Grid]) -> float:
    """The share of puzzles that d3rlpy's CQL solves with our learning rate, γ, α and returns."""
    import d3rlpy

    picker = d3rlpy.dataset.MultiStepTransitionPicker(n_steps=10, gamma=0.99)
    dataset = _their_dataset(demonstrations, 1.0, 0.0, transition_picker=picker)
    learner = d3rlpy.algos.DiscreteCQLConfig(
        batch_size=CQL_BATCH,
        learning_rate=1e-3,
        alpha=1.0,
        target_update_interval=250,
        encoder_factory=d3rlpy.models.encoders.VectorEncoderFactory([256, 256]),
    ).create(device="cpu:0")
    _fit(learner, dataset, CQL_STEPS)
    symbols = demonstrations.domain.spec.num_symbols
    return _success(demonstrations.domain, levels, lambda s: learner.predict(_planes(s, symbols)))


def _success(domain: Domain, levels: list[Grid], act: Act) -> float:
    """The share of levels that a policy solves in `MOST_STEPS`."""
    states, solved = np.stack(levels), np.zeros(len(levels), dtype=np.bool_)
    for _ in range(MOST_STEPS):
        moved = domain.step(states, act(states))
        states = np.where(solved[:, None, None], states, moved)
        solved |= domain.is_goal(states)
    return float(solved.mean())


def _their_dt(demonstrations: Demonstrations, levels: list[Grid]) -> float:
    """The share of puzzles that d3rlpy's Decision Transformer of our size solves."""
    import d3rlpy

    learner = d3rlpy.algos.DiscreteDecisionTransformerConfig(
        batch_size=DT_BATCH,
        learning_rate=6e-4,
        context_size=CONTEXT,
        num_heads=4,
        num_layers=3,
        encoder_factory=d3rlpy.models.encoders.VectorEncoderFactory([256, 96]),
        final_tokens=DT_STEPS * DT_BATCH * CONTEXT,
    ).create(device="cpu:0")
    _fit(learner, _their_dataset(demonstrations, -1.0, -1.0), DT_STEPS)
    typical = float(np.median(demonstrations.lengths))
    return float(
        np.mean(
            [_their_episode(demonstrations.domain, learner, level, typical) for level in levels]
        )
    )


def _their_episode(domain: Domain, learner: Any, level: Grid, steps: float) -> bool:
    """Whether d3rlpy's Decision Transformer solves a puzzle when asked for a plan of `steps`."""
    import d3rlpy

    greedy = d3rlpy.algos.GreedyTransformerActionSampler()
    actor = learner.as_stateful_wrapper(target_return=-steps, action_sampler=greedy)
    state, reward = level[None], 0.0
    for _ in range(MOST_STEPS):
        action = actor.predict(_planes(state, domain.spec.num_symbols)[0], reward)
        state, reward = domain.step(state, np.array([action])), -1.0
        if domain.is_goal(state)[0]:
            return True
    return False


def _fit(learner: Any, dataset: Any, steps: int) -> None:
    """Trains without writing logs."""
    import d3rlpy

    d3rlpy.seed(0)
    silent = d3rlpy.logging.NoopAdapterFactory()
    learner.fit(
        dataset, n_steps=steps, n_steps_per_epoch=steps, show_progress=False, logger_adapter=silent
    )
