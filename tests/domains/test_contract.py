"""Every registered domain keeps the contract, and `check_domain` notices those that do not."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hips import domains, plugins
from hips.domains import (
    Actions,
    Bools,
    Domain,
    Grid,
    Grids,
    GridSpec,
    Image,
    Scores,
    Symmetry,
    check_domain,
    create,
    names,
)
from hips.errors import ConfigError, ContractError
from tests.toys import LineWorld

EXAMPLE = Path(__file__).parents[2] / "examples" / "lights_out.py"


def variants() -> list[tuple[str, str]]:
    """Every registered domain with every variant."""
    return [(name, v) for name in names() for v in ("default", *type(create(name)).variants)]


def test_every_folder_of_a_domain_is_registered() -> None:
    folders = {path.parent.name for path in Path(domains.__path__[0]).glob("*/__init__.py")}
    assert len(folders) >= 4
    assert folders <= set(names())


@pytest.mark.parametrize(("name", "variant"), variants())
def test_registered_domains_keep_the_contract(name: str, variant: str) -> None:
    check_domain(create(name, variant=variant), count=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize(("name", "variant"), variants())
def test_registered_domains_keep_the_contract_on_many_states(
    name: str, variant: str, seed: int
) -> None:
    check_domain(create(name, variant=variant), rng_seed=seed, count=10)


@pytest.mark.parametrize(("name", "variant"), variants())
def test_parameters_make_the_same_domain_again(name: str, variant: str) -> None:
    domain = create(name, variant=variant)
    assert create(name, **domain.parameters()) == domain


def test_only_parameters_can_be_set() -> None:
    with pytest.raises(ConfigError, match=r"Available: height, width, blank_last\.$"):
        create("sliding_tiles", formats=("xml",))


def test_the_example_is_short_and_keeps_the_contract() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 120
    plugins.load(EXAMPLE)
    for size in (2, 3):
        check_domain(create("lights_out", size=size))


def test_a_scalar_domain_keeps_the_contract() -> None:
    check_domain(LineWorld())


@dataclass(frozen=True)
class Impure(LineWorld):
    def step(self, states: Grids, actions: Actions) -> Grids:
        states[:] = super().step(states, actions)
        return states.copy()


@dataclass(frozen=True)
class View(LineWorld):
    def step(self, states: Grids, actions: Actions) -> Grids:
        return states[:]


@dataclass(frozen=True)
class Partial(LineWorld):
    def step_one(self, state: Grid, action: int) -> Grid:
        if action == 1:
            raise ValueError("cannot go there")
        return state


@dataclass(frozen=True)
class BatchDependent(LineWorld):
    def step(self, states: Grids, actions: Actions) -> Grids:
        return super().step(states, actions) if len(states) == 1 else states.copy()


@dataclass(frozen=True)
class WrongType(LineWorld):
    def step(self, states: Grids, actions: Actions) -> Grids:
        return super().step(states, actions).astype(np.int64)  # type: ignore[return-value]


@dataclass(frozen=True)
class Unseeded(LineWorld):
    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        return super().sample(np.random.default_rng(), count)

    def sample_one(self, rng: np.random.Generator) -> Grid:
        state = np.zeros(self.spec.shape, dtype=np.uint8)
        state[0, rng.integers(self.length - 1)] = 1
        return state


@dataclass(frozen=True)
class SolvedStart(LineWorld):
    def is_goal(self, states: Grids) -> Bools:
        return np.ones(len(states), dtype=bool)

    def sample(self, rng: np.random.Generator, count: int) -> Grids:
        return np.repeat(LineWorld(self.length).sample(rng, 1), count, axis=0)


@dataclass(frozen=True)
class LazyExpert(LineWorld):
    def expert(self, state: Grid, rng: np.random.Generator, quality: float = 1.0) -> Actions:
        return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Forgetful(LineWorld):
    def text(self, state: Grid) -> str:
        return super().text(np.roll(state, 1))


@dataclass(frozen=True)
class Suspicious(LineWorld):
    def is_legal(self, states: Grids, origins: Grids) -> Bools:
        return (states == origins).all(axis=(1, 2))


@dataclass(frozen=True)
class WrongDecoder(LineWorld):
    def decode(self, scores: Scores, origins: Grids) -> Grids:
        return origins.copy()


@dataclass(frozen=True)
class Mirrored(LineWorld):
    def symmetries(self) -> tuple[Symmetry, ...]:
        return (Symmetry("mirror", lambda states: states[:, :, ::-1].copy(), (1, 0)),)


@dataclass(frozen=True)
class Grey(LineWorld):
    def render(self, state: Grid, cell: int = 32) -> Image:
        return super().render(state, cell)[:, :, 0]


@dataclass(frozen=True)
class TwoNames(LineWorld):
    @property
    def spec(self) -> GridSpec:
        return dataclasses.replace(super().spec, actions=("left", "left"))


@dataclass(frozen=True)
class ManyAnchors(LineWorld):
    @property
    def spec(self) -> GridSpec:
        return dataclasses.replace(super().spec, anchors=(0,))


@dataclass(frozen=True)
class UnknownAnchor(LineWorld):
    @property
    def spec(self) -> GridSpec:
        return dataclasses.replace(super().spec, anchors=(99,))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (Impure, "modified its input"),
        (View, "a view of its input"),
        (Partial, r"step: raised ValueError\('cannot go there'\)"),
        (BatchDependent, "depends on the batch"),
        (WrongType, "dtype int64, not uint8"),
        (Unseeded, "the same seed gave different states"),
        (SolvedStart, "already solved"),
        (LazyExpert, "does not reach a goal"),
        (Forgetful, "is not s"),
        (Suspicious, "rejects a reachable state"),
        (WrongDecoder, "decode does not return"),
        (Mirrored, "does not preserve goals|does not commute"),
        (Grey, "render gave"),
        (TwoNames, "two actions have the same name"),
        (ManyAnchors, "a state holds 11 anchors"),
        (UnknownAnchor, r"anchors \[99\] are not symbols"),
    ],
)
def test_broken_promises_are_named(broken: type[Domain], words: str) -> None:
    with pytest.raises(ContractError, match=words):
        check_domain(broken(length=12))


def test_a_check_needs_states() -> None:
    with pytest.raises(ContractError, match="at least one"):
        domains.check_domain(LineWorld(), count=0)
