"""The policy foresees its own way: targets by hand, and resumed stages with the same teacher."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hips import domains
from hips.data import Demonstrations
from hips.data.dataset import replay_plans, to_offsets
from hips.domains import Domain, Grids
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape
from hips.parts.reach_policy import chunking
from hips.parts.reach_policy import train as imitation
from hips.parts.reach_policy.chunking import CanonicalReach, ChunkingStage
from hips.parts.reach_policy.network import ReachPolicyNetwork
from hips.parts.reach_policy.train import ImitationStage, PolicyObjective
from hips.planner.rollouts import RolloutLimits, Rollouts, Simulator, follow
from hips.seeding import stream
from hips.training import checkpoint
from hips.training.config import TrainingConfig
from hips.training.corpus import Corpus
from hips.training.loop import StageRun
from hips.training.pipeline import ordered_stages, run_stages
from hips.training.progress import Reporter
from hips.training.schedule import Schedule
from tests.models.untrained import ALONE, untrained, workshop

SIZE = 6
UP, RIGHT, DOWN, LEFT = range(4)
START, AGENT, CITY = 3, 4, 1
CHOSEN = ("reach_policy.imitation", "detector.training", "reach_policy.chunking")
LOST_FROM = 5
"""The planted policy does not find subgoals that are so many steps away, or more."""


@pytest.fixture(scope="module")
def plain() -> Domain:
    """A map whose corners hold the start and a city nobody visits: inside, all ways are free."""
    return domains.create("tsp", size=SIZE, cities=1)


def make_corpus(plain: Domain, begins: np.ndarray, actions: np.ndarray) -> Corpus:
    """Trajectories of equal length on the inner cells `begins` `[N, 2]`, by `actions` `[N, L]`."""
    count, length = actions.shape
    starts = np.zeros((count, SIZE, SIZE), dtype=np.uint8)
    starts[:, 0, 0], starts[:, -1, -1] = START, CITY
    starts[np.arange(count), begins[:, 0], begins[:, 1]] += AGENT
    offsets = to_offsets(np.full(count, length))
    return Corpus.build(
        replay_plans(plain, starts, actions.reshape(-1).astype(np.uint8), offsets), plain
    )


@pytest.fixture(scope="module")
def corpus(plain: Domain) -> Corpus:
    """Demonstrators who go three cells to the right and then three up."""
    actions = np.array([[RIGHT] * 3 + [UP] * 3])
    return make_corpus(plain, np.array([[4, 1]]), actions)


class Planted(nn.Module):
    """Goes up and down before it goes left and right, or the other way round.

    Sure of one action at a time, and lost where `LOST_FROM` steps are left: it turns away.
    """

    def __init__(self, chunk: int) -> None:
        super().__init__()
        self.chunk = chunk
        self.vertical = nn.Parameter(torch.tensor(1.0))

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        here, there = (
            (grids >= AGENT).flatten(1).int().argmax(dim=1) for grids in (states, subgoals)
        )
        down, right = there // SIZE - here // SIZE, there % SIZE - here % SIZE
        rows = torch.where(down > 0, DOWN, UP)
        columns = torch.where(right > 0, RIGHT, LEFT)
        rows_first = torch.where(down != 0, rows, columns)
        columns_first = torch.where(right != 0, columns, rows)
        chosen = rows_first if float(self.vertical) > 0 else columns_first
        chosen = torch.where(down.abs() + right.abs() >= LOST_FROM, (chosen + 2) % 4, chosen)
        logits = torch.zeros(len(states), self.chunk, 4)
        logits[torch.arange(len(states)), 0, chosen] = 9.0
        return logits.log_softmax(dim=-1)


def own_way(state: np.ndarray, subgoal: np.ndarray) -> list[int]:
    """What the planted policy does: first all the rows, then all the columns."""
    (row, column), (to_row, to_column) = (np.argwhere(g >= AGENT)[0] for g in (state, subgoal))
    down, right = int(to_row - row), int(to_column - column)
    return [DOWN if down > 0 else UP] * abs(down) + [RIGHT if right > 0 else LEFT] * abs(right)


@dataclass(frozen=True)
class Pairs:
    """Proposes the same pairs again and again, or none."""

    states: Grids
    subgoals: Grids

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Grids, Grids]:
        return self.states[:size], self.subgoals[:size]


def small_policy(domain: Domain, chunk: int) -> ReachPolicyNetwork:
    trunk = TrunkConfig(16, 1)
    return ReachPolicyNetwork(GridShape.of(domain.spec, trunk), trunk, chunk)


def no_pairs(corpus: Corpus) -> Pairs:
    return Pairs(corpus.states[:0], corpus.states[:0])


def planted_stage(corpus: Corpus, chunk: int, horizon: int = 6) -> ImitationStage:
    policy: Any = Planted(chunk)
    return ImitationStage(Schedule(), policy, corpus, corpus, horizon)


def planted_chunks(
    corpus: Corpus, chunk: int, horizon: int = 6, proposed: Pairs | None = None
) -> ChunkingStage:
    policy: Any = Planted(chunk)
    pairs = proposed or no_pairs(corpus)
    return ChunkingStage(Schedule(), policy, corpus, corpus, horizon, pairs)


def check_targets(drawn: dict[str, Tensor], plain: dict[str, Tensor], chunk: int) -> set[int]:
    """Compares the targets with what is expected of them; returns the lengths of the ways."""
    assert (drawn["states"] == plain["states"]).all()
    assert (drawn["subgoals"] == plain["subgoals"]).all()
    lengths = set()
    for row, targets in enumerate(drawn["actions"].tolist()):
        way = own_way(drawn["states"][row].numpy(), drawn["subgoals"][row].numpy())
        lengths.add(len(way))
        demonstrated = int(plain["actions"][row, 0])
        known = [demonstrated] if len(way) >= LOST_FROM else way[:chunk]
        assert targets == [*known, *[-1] * (chunk - len(known))]
    return lengths


@pytest.mark.parametrize("chunk", [1, 3, 6, 8])
def test_targets_are_the_policys_own_way_where_it_gets_there(corpus: Corpus, chunk: int) -> None:
    drawn = planted_chunks(corpus, chunk).batch(stream(7, "chunks"), 400)
    plain = planted_stage(corpus, chunk).batch(stream(7, "chunks"), 200)
    assert check_targets(drawn, plain, chunk) == {1, 2, 3, 4, 5, 6}
    if chunk > 1:
        # Demonstrators turn once, and not where the policy does.
        assert (drawn["actions"] != plain["actions"]).any()


def test_held_out_targets_too_and_those_by_hand(corpus: Corpus) -> None:
    stage = planted_chunks(corpus, 4)
    held_out = stage.validation
    pairs = list(zip(held_out["states"], held_out["subgoals"], held_out["actions"], strict=True))

    def targets(first: int, last: int) -> list[int]:
        states = torch.from_numpy(corpus.states)
        found: list[list[int]] = [
            actions.tolist()
            for state, subgoal, actions in pairs
            if state.equal(states[first]) and subgoal.equal(states[last])
        ]
        assert found
        assert all(actions == found[0] for actions in found)
        return found[0]

    assert targets(1, 5) == [UP, UP, RIGHT, RIGHT]  # not right, right, up, up
    assert targets(0, 5) == [RIGHT, -1, -1, -1]  # the policy does not get there
    assert targets(2, 5) == [UP, UP, RIGHT, -1]
    assert targets(1, 2) == [RIGHT, -1, -1, -1]  # there is no second step
    assert targets(3, 6) == [UP, UP, UP, -1]


def test_subgoals_beyond_the_horizon_are_not_reached(plain: Domain, corpus: Corpus) -> None:
    """A detour of the policy that takes more steps than the horizon is no way to foresee."""
    stage = planted_chunks(corpus, 4, horizon=3)
    whole = {
        "states": torch.from_numpy(corpus.states[[0, 0]]),
        "subgoals": torch.from_numpy(corpus.states[[3, 4]]),
        "actions": torch.full((2, 4), RIGHT),
    }
    found = stage._foreseen(whole)
    assert found["actions"].tolist() == [[RIGHT, RIGHT, RIGHT, -1], [RIGHT, -1, -1, -1]]
    assert found["reached"].tolist() == [1.0, 0.0]


def test_half_of_a_batch_is_proposed_and_only_its_reached_ways_are_learned(corpus: Corpus) -> None:
    """The planted policy gets from the first state to the fourth, but not to the sixth."""
    proposed = Pairs(corpus.states[[0, 0]], corpus.states[[3, 5]])
    drawn = planted_chunks(corpus, 4, proposed=proposed).batch(stream(2, "chunks"), 4)
    assert drawn["states"][2:].equal(torch.from_numpy(proposed.states))
    assert drawn["subgoals"][2:].equal(torch.from_numpy(proposed.subgoals))
    assert drawn["actions"][2:].tolist() == [[RIGHT, RIGHT, RIGHT, -1], [-1] * 4]
    assert drawn["reached"][2:].tolist() == [1.0, 0.0]


def test_what_is_not_known_is_not_learned() -> None:
    """Pairs without a way change neither the loss of the others nor their accuracy."""
    log_probabilities = torch.randn(4, 3, 5).log_softmax(dim=-1)
    actions = torch.tensor([[0, 1, -1], [2, -1, -1], [-1, -1, -1], [-1, -1, -1]])
    objective = PolicyObjective(nn.Identity())  # type: ignore[arg-type]
    all_four = objective.imitation(log_probabilities, actions)
    first_two = objective.imitation(log_probabilities[:2], actions[:2])
    assert all_four == first_two


def test_the_policy_learns_where_it_does_not_get(plain: Domain, tmp_path: Path) -> None:
    """A second agent appears in what is proposed; what is demonstrated is reached."""
    ways = np.array([[RIGHT, UP], [UP, RIGHT]] * 50)
    data = make_corpus(plain, np.tile([[4, 1]], (100, 1)), ways)
    starts, ends = data.states[data.offsets[:-1]], data.states[data.offsets[1:] - 1]
    impossible = ends.copy()
    impossible[:, 0, 0] = AGENT
    torch.manual_seed(0)
    policy = small_policy(plain, chunk=2)
    schedule = Schedule(60, batch=64, learning_rate=1e-2, validate_every=60)
    run = partial(StageRun, folder=tmp_path, seed=0, reporter=Reporter(None), group=ALONE)
    run("imitation", ImitationStage(schedule, policy, data, data, 2)).run()
    proposed = Pairs(starts, impossible)
    run("chunking", ChunkingStage(schedule, policy, data, data, 2, proposed)).run()
    grids = [torch.from_numpy(grid[:1]) for grid in (starts, ends, impossible)]
    with torch.no_grad():
        possible, hopeless = (policy.foresee(grids[0], grid)[1] for grid in grids[1:])
    assert float(possible.sigmoid()) > 0.9
    assert float(hopeless.sigmoid()) < 0.1


def test_the_teacher_is_the_policy_before_the_stage(corpus: Corpus) -> None:
    stage = planted_chunks(corpus, 4)
    before = stage.batch(stream(1, "chunks"), 100)["actions"]
    with torch.no_grad():
        stage.policy.vertical.fill_(-1.0)  # type: ignore[operator]
    after = stage.batch(stream(1, "chunks"), 100)["actions"]
    assert after.equal(before)
    other = planted_chunks(corpus, 4)
    with torch.no_grad():
        other.teacher.policy.vertical.fill_(-1.0)  # type: ignore[attr-defined]
    assert not other.batch(stream(1, "chunks"), 100)["actions"].equal(before)
    assert set(dict(stage.objective.named_parameters())) == {"policy.vertical"}


def demonstrated_way(rng: np.random.Generator) -> list[int]:
    """Two cells up and two to the right; of the two, up is the likelier next one."""
    ups, rights, way = 2, 2, []
    while ups or rights:
        up = ups > 0 and (rights == 0 or rng.random() < 0.75)
        ups, rights = ups - up, rights - (not up)
        way.append(UP if up else RIGHT)
    return way


def test_after_the_stage_rollouts_ask_less_often(
    plain: Domain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Demonstrators turn where they like; the policy's own way is one and can be foreseen."""
    monkeypatch.setattr(imitation, "VALIDATION_SAMPLES", 256)
    monkeypatch.setattr(chunking, "VALIDATION_SAMPLES", 256)
    rng = stream(0, "demonstrators")
    ways = np.array([demonstrated_way(rng) for _ in range(400)])
    begins = np.stack([rng.integers(3, 5, size=400), rng.integers(1, 3, size=400)], axis=1)
    data = make_corpus(plain, begins, ways)
    torch.manual_seed(0)
    policy = small_policy(plain, chunk=4)
    starts, targets = data.states[data.offsets[:-1]], data.states[data.offsets[1:] - 1]

    schedule = Schedule(200, batch=64, learning_rate=1e-2, validate_every=200)
    simulator, limits = Simulator(plain.step, plain.is_goal), RolloutLimits(4, 0.9)

    def train_and_ask(name: str, stage: ImitationStage) -> Rollouts:
        StageRun(name, stage, tmp_path, 0, Reporter(None), ALONE).run()
        return follow(simulator, CanonicalReach(policy.eval()), starts, targets, limits)

    before = train_and_ask("imitation", ImitationStage(schedule, policy, data, data, 4))
    proposed = Pairs(starts, targets)
    after = train_and_ask("chunking", ChunkingStage(schedule, policy, data, data, 4, proposed))
    assert before.success.mean() > 0.95
    assert after.success.mean() > 0.95
    assert after.policy_calls.mean() < 0.95 * before.policy_calls.mean()


def test_equal_actions_are_taken_in_their_order() -> None:
    """Up and right are as good as each other, down is not; a sure action stays what it is."""
    probabilities = np.array([[[0.4, 0.45, 0.15], [0.02, 0.01, 0.97]]])
    preferred = chunking.prefer_first(np.log(probabilities))
    assert preferred.argmax(axis=2).tolist() == [[0, 2]]
    untouched = np.array([[[False, True, True], [True, True, False]]])
    np.testing.assert_array_equal(preferred[untouched], np.log(probabilities)[untouched])
    np.testing.assert_allclose(np.exp(preferred.max(axis=2)), [[0.45, 0.97]], rtol=1e-5)


class Killed(BaseException):
    """Stands for a kill in the middle of a stage."""


@pytest.mark.usefixtures("few_samples")
def test_a_resumed_stage_has_the_same_teacher(
    config: TrainingConfig,
    demos: Demonstrations,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[ChunkingStage] = []

    class Noted(ChunkingStage):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(chunking, "ChunkingStage", Noted)

    def run(folder: str) -> nn.Module:
        networks = untrained(demos.domain, config)
        work = workshop(demos.domain, config, networks, tmp_path / folder)
        stages = ordered_stages(work.parts, config)
        run_stages(work, stages, CHOSEN, Reporter(None), {"subgoals.discrete", "prior.training"})
        return networks["reach_policy"]

    expected = run("whole")
    original = StageRun._one_step

    def die_at_five(self: StageRun, trained: nn.Module, share: int) -> None:
        if self.name == CHOSEN[-1] and self.step == 5:
            raise Killed
        original(self, trained, share)

    with monkeypatch.context() as patch:
        patch.setattr(StageRun, "_one_step", die_at_five)
        with pytest.raises(Killed):
            run("cut")
    assert (tmp_path / "cut" / CHOSEN[-1] / "latest.safetensors").exists()
    found = run("cut")
    whole, _, resumed = made
    assert (whole.validation["actions"][:, 1:] >= 0).any()
    assert whole.validation["actions"].equal(resumed.validation["actions"])
    taught = resumed.teacher.policy.state_dict()
    for name, value in whole.teacher.policy.state_dict().items():
        assert value.equal(taught[name]), name
    for name, value in expected.state_dict().items():
        assert value.equal(found.state_dict()[name]), name
    assert any(not value.equal(taught[name]) for name, value in found.state_dict().items())
    assert not list((tmp_path / "cut" / CHOSEN[-1]).glob("latest*"))
    # What is saved is the policy alone, so that the teacher can only come from the stage before.
    saved = PolicyObjective(resumed.teacher.policy)
    checkpoint.load(tmp_path / "cut" / CHOSEN[-1] / "best.safetensors", saved)
