"""`check_domain`: tests any domain, built-in or custom, against the contract of `Domain`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hips.arrays import Actions, Grids
from hips.domains.base import Domain, Preset, replay
from hips.errors import ContractError, LevelError
from hips.seeding import stream

QUALITIES = (0.0, 0.5, 1.0)
WALK_LENGTH = 24
MAX_SYMBOLS = 256
CHECKED_SYMMETRIES = 16
RENDERED_CELL = 12
CONFIDENCE = 12.0
"""Score of a cell's true symbol (all others: 0) when checking `decode`."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A domain under test.

    Attributes:
        domain: the domain.
        seed: seed of all random draws of the check.
        starts: sampled start states `[count, H, W]`.
        walks: states of random walks from the starts, `[count, WALK_LENGTH + 1, H, W]`.
    """

    domain: Domain
    seed: int
    starts: Grids
    walks: npt.NDArray[np.uint8]

    @property
    def visited(self) -> Grids:
        """All states of the random walks, `[N, H, W]`."""
        return self.walks.reshape(-1, *self.walks.shape[2:])


def check_domain(domain: Domain, rng_seed: int = 0, count: int = 6) -> None:
    """Checks a domain against the contract on sampled states, random walks and expert plans.

    Args:
        domain: the domain to check.
        rng_seed: seed of the states and walks to check on.
        count: number of start states.

    Raises:
        ContractError: names the first violation and how it occurred.
    """
    if count < 1:
        raise ContractError(f"check_domain needs at least one start state, not {count}.")
    _run(domain, "spec and preset", _check_spec, domain)
    _run(domain, "sample", _check_sample, domain, rng_seed, count)
    starts = domain.sample(stream(rng_seed, "check", "sample"), count)
    actions = stream(rng_seed, "check", "walk").integers(
        domain.spec.num_actions, size=(count, WALK_LENGTH)
    )
    _run(domain, "step", _check_step, domain, starts)
    walks = np.stack([replay(domain, s, a) for s, a in zip(starts, actions, strict=True)])
    subject = _Subject(domain, rng_seed, starts, walks)
    for name, check in _CHECKS.items():
        _run(domain, name, check, subject)


def _run(domain: Domain, part: str, check: Callable[..., None], *arguments: object) -> None:
    """Runs one check; turns anything the domain raises into a `ContractError` naming the part."""
    name = getattr(domain, "name", type(domain).__name__)
    try:
        check(*arguments)
    except ContractError as error:
        raise ContractError(f"Domain '{name}', {part}: {error}") from None
    except Exception as error:
        raise ContractError(f"Domain '{name}', {part}: raised {error!r}.") from error


def _require(condition: object, message: str) -> None:
    if not condition:
        raise ContractError(message)


def _require_grids(domain: Domain, grids: Grids, count: int, source: str) -> None:
    """Requires a batch of `count` grids of the spec's shape and alphabet."""
    expected = (count, *domain.spec.shape)
    _require(isinstance(grids, np.ndarray), f"{source} must return a NumPy array.")
    _require(grids.shape == expected, f"{source} returned shape {grids.shape}, not {expected}.")
    _require(grids.dtype == np.uint8, f"{source} returned dtype {grids.dtype}, not uint8.")
    highest = int(grids.max(initial=0))
    _require(
        highest < domain.spec.num_symbols,
        f"{source} returned symbol {highest}; the spec has 0 to {domain.spec.num_symbols - 1}.",
    )


def _require_flags(flags: npt.NDArray[np.bool_], count: int, source: str) -> None:
    _require(
        isinstance(flags, np.ndarray) and flags.shape == (count,) and flags.dtype == np.bool_,
        f"{source} must return a Boolean array of shape ({count},).",
    )


def _check_spec(domain: Domain) -> None:
    spec = domain.spec
    _require(spec.height >= 1 and spec.width >= 1, f"the shape {spec.shape} has no cells.")
    _require(1 <= spec.num_symbols <= MAX_SYMBOLS, f"{spec.num_symbols} symbols; use 1 to 256.")
    _require(spec.num_actions >= 1, "there are no actions.")
    _require(len(set(spec.symbols)) == spec.num_symbols, "two symbols have the same name.")
    _require(len(set(spec.actions)) == spec.num_actions, "two actions have the same name.")
    _require(0 <= 2 * spec.border < min(spec.shape), f"a border of {spec.border} leaves no cells.")
    preset = domain.preset
    _require(isinstance(preset, Preset), "`preset` must be a Preset.")
    _require(
        preset.horizon >= 1, f"the preset's horizon is {preset.horizon}; at least 1 is needed."
    )
    _require(domain.formats, "`formats` must name at least one text format.")
    json.dumps(domain.parameters())


def _check_sample(domain: Domain, seed: int, count: int) -> None:
    first, again = (domain.sample(stream(seed, "check", "sample"), count) for _ in range(2))
    _require_grids(domain, first, count, "sample")
    _require(np.array_equal(first, again), "the same seed gave different states.")
    _require(not domain.is_goal(first).any(), "a start state is already solved.")
    _require_grids(domain, domain.sample(stream(seed, "check", "none"), 0), 0, "sample of count 0")
    border = domain.spec.border
    if border:
        inner = first.copy()
        inner[:, border:-border, border:-border] = 0
        _require(not inner.any(), f"a cell in the outer {border} rings is not symbol 0.")


def _check_step(domain: Domain, starts: Grids) -> None:
    _require_grids(domain, domain.step(starts[:0], np.zeros(0, dtype=np.int64)), 0, "empty step")
    for index, name in enumerate(domain.spec.actions):
        actions = np.full(len(starts), index, dtype=np.int64)
        before = starts.copy()
        after = domain.step(starts, actions)
        _require_grids(domain, after, len(starts), f"step '{name}'")
        _require(np.array_equal(starts, before), f"'{name}' modified its input; return new grids.")
        _require(not np.shares_memory(after, starts), f"'{name}' returned a view of its input.")
        _require(np.array_equal(after, domain.step(starts, actions)), f"'{name}' is random.")
        single = [domain.step(starts[i : i + 1], actions[i : i + 1]) for i in range(len(starts))]
        _require(np.array_equal(after, np.concatenate(single)), f"'{name}' depends on the batch.")


def _check_goals(subject: _Subject) -> None:
    states = subject.visited
    goals = subject.domain.is_goal(states)
    _require_flags(goals, len(states), "is_goal")
    single = [bool(subject.domain.is_goal(state[None])[0]) for state in states]
    _require(goals.tolist() == single, "is_goal of a state depends on the rest of the batch.")


def _plans(subject: _Subject, quality: float) -> Iterator[Actions]:
    for index, start in enumerate(subject.starts):
        rng = stream(subject.seed, "check", "expert", index)
        yield subject.domain.expert(start.copy(), rng, quality)


def _check_expert(subject: _Subject) -> None:
    domain = subject.domain
    for quality in QUALITIES:
        plans, again = list(_plans(subject, quality)), list(_plans(subject, quality))
        where = f"at quality {quality}"
        same = all(np.array_equal(a, b) for a, b in zip(plans, again, strict=True))
        _require(same, f"the same seed gave different plans {where}.")
        for start, plan in zip(subject.starts, plans, strict=True):
            _require(np.issubdtype(plan.dtype, np.integer), "a plan must hold action indices.")
            inside = ((plan >= 0) & (plan < domain.spec.num_actions)).all()
            _require(inside, f"a plan has an unknown action {where}.")
            solved = domain.is_goal(replay(domain, start, plan)[-1:])[0]
            _require(solved, f"a plan of {len(plan)} actions does not reach a goal {where}.")


def _check_text(subject: _Subject) -> None:
    domain = subject.domain
    for state in subject.visited:
        again = domain.parse(domain.text(state))
        _require(np.array_equal(again, state), f"parse(text(s)) is not s for\n{domain.text(state)}")
    levels = domain.parse_many(domain.export(list(subject.starts), domain.formats[0]))
    same = len(levels) == len(subject.starts) and np.array_equal(np.stack(levels), subject.starts)
    _require(same, f"parse_many does not read what export writes in format '{domain.formats[0]}'.")


def _check_example(subject: _Subject) -> None:
    domain = subject.domain
    if domain.example is None:
        return
    level = domain.parse(domain.example.text)
    own = domain.for_grid(level)
    _require(not own.fault(level), f"the example is no state: {own.fault(level)}")
    _require(not own.is_goal(level[None])[0], "the example is solved.")


def _check_render(subject: _Subject) -> None:
    height, width = subject.domain.spec.shape
    expected = (height * RENDERED_CELL, width * RENDERED_CELL, 3)
    for state in subject.starts[:2]:
        picture = subject.domain.render(state, RENDERED_CELL)
        _require(
            picture.shape == expected and picture.dtype == np.uint8,
            f"render gave {picture.dtype} {picture.shape}, not uint8 {expected}.",
        )


def _check_legality(subject: _Subject) -> None:
    domain = subject.domain
    for walk in subject.walks:
        flags = domain.is_legal(walk, np.broadcast_to(walk[0], walk.shape).copy())
        _require_flags(flags, len(walk), "is_legal")
        example = domain.text(walk[int(flags.argmin())])
        _require(flags.all(), f"is_legal rejects a reachable state:\n{example}")
    rng = stream(subject.seed, "check", "rubbish")
    for symbols in (domain.spec.num_symbols, MAX_SYMBOLS):
        rubbish = rng.integers(symbols, size=subject.starts.shape).astype(np.uint8)
        _require_flags(domain.is_legal(rubbish, subject.starts), len(rubbish), "is_legal")


def _check_decoding(subject: _Subject) -> None:
    domain = subject.domain
    symbols = domain.spec.num_symbols
    for start, plan in zip(subject.starts, _plans(subject, 1.0), strict=True):
        states = replay(domain, start, plan)
        ahead = 1 + np.arange(len(plan)) % min(domain.preset.horizon, 10)
        later = states[np.minimum(np.arange(len(plan)) + ahead, len(plan))]
        origins = states[:-1]
        scores = (CONFIDENCE * np.eye(symbols, dtype=np.float32))[later]
        decoded = domain.decode(scores, origins)
        _require_grids(domain, decoded, len(later), "decode")
        wrong = (decoded != later).any(axis=(1, 2))
        _require(not wrong.any(), "decode does not return the state whose cells all score best.")
        _require(domain.is_legal(later, origins).all(), "is_legal rejects a later state of a plan.")
    rng = stream(subject.seed, "check", "scores")
    noise = rng.standard_normal((*subject.starts.shape, symbols)).astype(np.float32)
    _require_grids(domain, domain.decode(noise, subject.starts), len(noise), "decode of noise")


def _check_estimate(subject: _Subject) -> None:
    domain = subject.domain
    states = subject.visited
    estimates = domain.estimate(states)
    if estimates is None:
        return
    _require(estimates.shape == (len(states),), f"estimate must return shape ({len(states)},).")
    sane = np.isfinite(estimates) & (estimates >= 0)
    _require(sane.all(), "estimate must be finite and 0 or more.")
    for start, plan in zip(subject.starts, _plans(subject, 1.0), strict=True):
        goal = domain.estimate(replay(domain, start, plan)[-1:])
        _require(goal is not None and goal[0] == 0, "estimate is not 0 at a goal.")


def _check_dead_ends(subject: _Subject) -> None:
    domain = subject.domain
    _require_flags(domain.is_dead(subject.visited), len(subject.visited), "is_dead")
    for start, plan in zip(subject.starts, _plans(subject, 0.5), strict=True):
        states = replay(domain, start, plan)
        dead = domain.is_dead(states)
        example = domain.text(states[int(dead.argmax())])
        _require(not dead.any(), f"is_dead gives up a state of a plan:\n{example}")


def _check_macros(subject: _Subject) -> None:
    domain = subject.domain
    macros = domain.macros(subject.starts)
    if macros is None:
        return
    for index, (parent, length) in enumerate(zip(macros.parents, macros.lengths, strict=True)):
        actions = macros.actions[index, :length].astype(np.int64)
        end = replay(domain, subject.starts[parent], actions)[-1]
        _require(length >= 1, "a macro has no actions.")
        _require(np.array_equal(end, macros.states[index]), "a macro does not lead to its state.")


def _check_symmetries(subject: _Subject) -> None:
    domain = subject.domain
    symmetries = domain.symmetries()
    states = np.concatenate([subject.visited, subject.starts])
    rng = stream(subject.seed, "check", "symmetries")
    actions = rng.integers(domain.spec.num_actions, size=len(states))
    after = domain.step(states, actions)
    for symmetry in symmetries[:: max(1, len(symmetries) // CHECKED_SYMMETRIES)]:
        permutation = sorted(symmetry.actions) == list(range(domain.spec.num_actions))
        _require(permutation, f"'{symmetry.name}' does not permute the actions.")
        before = states.copy()
        turned = symmetry.transform(states)
        _require(np.array_equal(states, before), f"'{symmetry.name}' modified its input.")
        _require_grids(domain, turned, len(states), f"'{symmetry.name}'")
        stepped = domain.step(turned, np.array(symmetry.actions, dtype=np.int64)[actions])
        same = np.array_equal(stepped, symmetry.transform(after))
        _require(same, f"'{symmetry.name}' does not commute with step.")
        goals = np.array_equal(domain.is_goal(stepped), domain.is_goal(after))
        _require(goals, f"'{symmetry.name}' does not preserve goals.")


def _check_pddl(subject: _Subject) -> None:
    domain = subject.domain
    for start in subject.starts:
        task = domain.pddl(start)
        if task is None:
            _require("pddl" not in domain.formats, "`formats` has 'pddl', but `pddl` returns None.")
            return
        for text, kind in zip(task, ("domain", "problem"), strict=True):
            _require(f"(define ({kind} " in text, f"the text has no `(define ({kind} …`.")
            _require(text.count("(") == text.count(")"), f"the {kind}'s parentheses do not match.")
    empty = domain.plan_from_pddl(["; no steps"])
    _require(not len(empty), "plan_from_pddl returns actions for a plan without steps.")
    try:
        domain.plan_from_pddl(["(no-such-step)"])
    except LevelError:
        return
    raise ContractError("plan_from_pddl must reject an unknown step with a LevelError.")


def _check_size(subject: _Subject) -> None:
    again = subject.domain.for_grid(subject.starts[0])
    same = again.spec == subject.domain.spec
    _require(same, "for_grid changes the spec for a grid of the domain's own size.")


def _check_anchors(subject: _Subject) -> None:
    anchors = subject.domain.spec.anchors
    if not anchors:
        return
    unknown = [anchor for anchor in anchors if not 0 <= anchor < subject.domain.spec.num_symbols]
    _require(not unknown, f"anchors {unknown} are not symbols.")
    counts = np.isin(subject.visited, anchors).sum(axis=(1, 2))
    wrong = int(counts[counts != 1][0]) if (counts != 1).any() else 1
    _require(wrong == 1, f"a state holds {wrong} anchors; every state must hold exactly one.")


_CHECKS: dict[str, Callable[[_Subject], None]] = {
    "anchors": _check_anchors,
    "is_goal": _check_goals,
    "expert": _check_expert,
    "text": _check_text,
    "example": _check_example,
    "render": _check_render,
    "is_legal": _check_legality,
    "decode": _check_decoding,
    "estimate": _check_estimate,
    "is_dead": _check_dead_ends,
    "macros": _check_macros,
    "symmetries": _check_symmetries,
    "pddl": _check_pddl,
    "for_grid": _check_size,
}
