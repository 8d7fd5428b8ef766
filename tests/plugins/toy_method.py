"""A method in one file: a part that foresees the demonstrator's next actions, and a search with it.

Train it, and solve with it; the package does not change:

    hips train sliding_tiles --plugin toy_method.py --parts toy_foresight --out runs/toy
    hips solve sliding_tiles --plugin toy_method.py --method toy --model runs/toy/model
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hips import methods, parts
from hips.arrays import Floats, Grids, Ints
from hips.domains import Domain, GridSpec
from hips.errors import ModelError
from hips.methods import Method, Wiring
from hips.models.runtime import Array, GraphRuntime
from hips.planner.components import Components, make_expander
from hips.planner.protocols import NO_ACTION, Proposals
from hips.planner.solvers import SearchSolver
from hips.training.contract import Examples, GraphSpec, Part, StageSpec
from hips.training.schedule import Schedule, Size
from hips.training.survey import Survey

if TYPE_CHECKING:
    from torch import Tensor, nn

    from hips.training.config import TrainingConfig
    from hips.training.loop import Stage
    from hips.training.scoring import Exam
    from hips.training.workshop import Workshop

PART = "toy_foresight"
GRAPH = "toy_foresight"


@dataclass(frozen=True, slots=True)
class ForesightConfig:
    """Sizes of the network, and its training.

    Attributes:
        length: actions that are foreseen.
        width: of the hidden layer.
        training: its only stage.
    """

    length: int = 3
    width: int = 64
    training: Schedule = field(default_factory=lambda: Schedule(steps=400, learning_rate=3e-3))


@parts.register
class ForesightPart(Part):
    """The next actions of a demonstrator."""

    name = PART
    about = "foresees the next actions of a demonstrator"
    config_type = ForesightConfig
    headline = "foreseen"

    def configure(
        self, domain: Domain, size: Size, survey: Survey | None = None
    ) -> ForesightConfig:
        """As many actions as a subgoal may be away, at most three."""
        usual = ForesightConfig()
        length = min(usual.length, domain.preset.horizon)
        return ForesightConfig(length=length, training=usual.training.sized(size))

    def build(self, spec: GridSpec, config: ForesightConfig, horizon: int) -> nn.Module:
        """A perceptron over all cells."""
        return make_network(spec, config)

    def stages(self, config: TrainingConfig) -> Sequence[StageSpec]:
        """Imitation."""
        return (StageSpec(f"{PART}.training", make_stage),)

    def graphs(self, network: nn.Module) -> Sequence[GraphSpec]:
        """States to log-probabilities of the next actions."""

        def inputs(examples: Examples) -> Mapping[str, Array]:
            return {"states": examples.states}

        return (GraphSpec(GRAPH, network, inputs, ("log_probabilities",)),)

    def score(self, exam: Exam) -> dict[str, float]:
        """`foreseen`: share of states in which the likeliest action is the demonstrator's."""
        data = exam.data
        acting = np.flatnonzero(data.actions >= 0)
        foresight = Foresight(exam.runtime)
        likeliest = exam.batched(
            lambda states: foresight.log_probabilities(states)[:, 0].argmax(axis=1),
            data.states[acting],
        )
        return {"foreseen": float((likeliest == data.actions[acting]).mean())}


def make_network(spec: GridSpec, config: ForesightConfig) -> nn.Module:
    """States `[B, H, W]` to log-probabilities `[B, length, actions]`."""
    import torch
    from torch import nn

    class ForesightNetwork(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            cells = spec.height * spec.width
            self.hidden = nn.Linear(cells * spec.num_symbols, config.width)
            self.out = nn.Linear(config.width, config.length * spec.num_actions)

        def forward(self, states: Tensor) -> Tensor:
            planes = nn.functional.one_hot(states.long(), spec.num_symbols).float()
            inner = torch.relu(self.hidden(planes.flatten(1)))
            scores = self.out(inner).view(-1, config.length, spec.num_actions)
            return scores.log_softmax(dim=-1)

    return ForesightNetwork()


def make_stage(workshop: Workshop) -> Stage:
    """Imitation of what demonstrators do next."""
    import torch
    from torch import nn

    from hips.seeding import stream
    from hips.training.batches import Batch, mean_metrics
    from hips.training.corpus import Corpus
    from hips.training.loop import Stage

    config: ForesightConfig = workshop.config.parts[PART]

    class Objective(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = workshop.network(PART)

        def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
            found, actions = self.network(batch["states"]), batch["actions"]
            loss = nn.functional.nll_loss(
                found.flatten(0, 1), actions.flatten(), ignore_index=NO_ACTION
            )
            right = (found[:, 0].argmax(dim=1) == actions[:, 0]).float().mean()
            return loss, {"foreseen": right}

    class ForesightStage(Stage):
        def __init__(self) -> None:
            self.schedule, self.objective = config.training, Objective()
            self.validation = self.draw(workshop.valid, stream(0, PART, "validation"), 512)

        def draw(self, corpus: Corpus, rng: np.random.Generator, size: int) -> Batch:
            starts = rng.choice(corpus.decisions, size=size)
            actions = corpus.action_windows(starts, corpus.last[starts], config.length)
            states = torch.from_numpy(corpus.states[starts])
            return {"states": states, "actions": torch.from_numpy(actions)}

        def batch(self, rng: np.random.Generator, size: int) -> Batch:
            return self.draw(workshop.train, rng, size)

        def validate(self) -> dict[str, float]:
            return mean_metrics(self.objective, self.validation)

    return ForesightStage()


@dataclass(frozen=True, slots=True)
class Foresight:
    """The graph as a subgoal generator: after each first action, what would probably follow."""

    runtime: GraphRuntime

    def log_probabilities(self, states: Grids) -> Floats:
        """Of the next actions, `[B, length, A]`."""
        found: Floats = self.runtime.rowwise(GRAPH, states=states)[0].astype(np.float64)
        return found

    def propose(self, states: Grids) -> Proposals:
        """One action list for each first action, as likely as that action."""
        found = self.log_probabilities(states)
        count, length, num_actions = found.shape
        first: Ints = np.tile(np.arange(num_actions), count)
        parents: Ints = np.repeat(np.arange(count), num_actions)
        likeliest = found.argmax(axis=2)
        lists = np.concatenate([first[:, None], likeliest[parents, 1:]], axis=1)
        assert lists.shape == (len(parents), length)
        return Proposals(parents, first, found[parents, 0, first], actions=lists, calls=1)


def build(wiring: Wiring) -> SearchSolver:
    """A search over foreseen action lists and single actions."""
    if wiring.runtime is None or GRAPH not in wiring.runtime:
        raise ModelError(f"Method 'toy' needs a model with the part '{PART}'.")
    components = Components(generator=Foresight(wiring.runtime))
    expander = make_expander(wiring.domain, components, wiring.settings)
    return SearchSolver(expander, str(wiring.settings.evaluation), batch=wiring.execution.batch)


FACTS: dict[str, Any] = {
    "parts": (PART,),
    "settings": ("evaluation", "epsilon", "precision"),
    "defaults": {"evaluation": "levin_ts", "epsilon": 0.1},
}

methods.register(Method("toy", "Toy", "foreseen action lists and single actions", build, **FACTS))
