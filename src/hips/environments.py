"""Gymnasium environments of the registered domains: `hips/<Name>-v0`.

Importing this module registers them; `gymnasium.make` does so itself for an id such as
`hips.environments:hips/Sokoban-v0`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from hips import domains
from hips.arrays import Grid, Image
from hips.domains import Domain
from hips.errors import ConfigError, LevelError

RENDER_MODES = ("rgb_array", "ansi")
METADATA: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 8}
CELL = 32


class PuzzleEnv(gymnasium.Env[Grid, np.int64]):
    """One puzzle of a domain; reaching a goal gives reward 1 and ends the episode, else 0.

    Observations are the grids of symbols `uint8 [H, W]`; actions are indices of the domain's
    action names, which `info["actions"]` of `reset` lists.

    Args:
        domain: a domain or its name.
        variant: a named parameter set of the domain.
        level: a fixed level, as text or grid; without it, every reset samples a new one.
        render_mode: `rgb_array`, `ansi` or None.
        parameters: the domain's parameters, such as its size.
    """

    metadata = METADATA

    def __init__(
        self,
        domain: Domain | str,
        variant: str | None = None,
        level: str | Grid | None = None,
        render_mode: str | None = None,
        **parameters: Any,
    ) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            available = ", ".join(RENDER_MODES)
            raise ConfigError(f"Unknown render mode '{render_mode}'. Available: {available}.")
        if isinstance(domain, str):
            domain = domains.create(domain, variant, **parameters)
        elif variant is not None or parameters:
            raise ConfigError("Variant and parameters need a domain's name, not a domain object.")
        self.level = None if level is None else _read(domain, level)
        self.domain = domain if self.level is None else domain.for_grid(self.level)
        self.render_mode = render_mode
        spec = self.domain.spec
        self.observation_space = spaces.Box(0, spec.num_symbols - 1, spec.shape, np.uint8)
        self.action_space = spaces.Discrete(spec.num_actions)
        self._state: Grid | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Grid, dict[str, Any]]:
        """Starts the fixed level, or a new one sampled with the environment's generator."""
        super().reset(seed=seed)
        if self.level is None:
            self._state = self.domain.sample(self.np_random, 1)[0]
        else:
            self._state = self.level
        return self._state.copy(), {"actions": self.domain.spec.actions}

    def step(self, action: np.int64 | int) -> tuple[Grid, float, bool, bool, dict[str, Any]]:
        """Takes one action; an impossible one leaves the state unchanged."""
        if not self.action_space.contains(action):
            raise ConfigError(
                f"Action {action!r} is not in 0 to {self.domain.spec.num_actions - 1}."
            )
        states = self.domain.step(self._current()[None], np.array([action], dtype=np.int64))
        self._state = states[0]
        solved = bool(self.domain.is_goal(states)[0])
        return self._state.copy(), float(solved), solved, False, {}

    def render(self) -> Image | str | None:
        """The state as a picture `[H * 32, W * 32, 3]` or as text."""
        if self.render_mode == "rgb_array":
            return self.domain.render(self._current(), CELL)
        return self.domain.text(self._current()) if self.render_mode == "ansi" else None

    def _current(self) -> Grid:
        if self._state is None:
            raise ConfigError("The environment has no state yet; call reset() first.")
        return self._state


def _read(domain: Domain, level: str | Grid) -> Grid:
    """Reads a level given as text or grid and checks its symbols."""
    if isinstance(level, str):
        return domain.parse(level)
    grid = np.asarray(level)
    if grid.ndim != 2 or not np.issubdtype(grid.dtype, np.integer):
        raise LevelError("a level must be text or a two-dimensional array of symbols")
    if grid.min(initial=0) < 0 or grid.max(initial=0) >= domain.spec.num_symbols:
        raise LevelError(f"a level's symbols must be 0 to {domain.spec.num_symbols - 1}")
    return grid.astype(np.uint8)


def register_environments() -> tuple[str, ...]:
    """Registers an environment for every domain that names one; returns their ids."""
    ids = []
    for name in domains.names():
        environment_id = domains.create(name).environment_id
        if environment_id is None:
            continue
        ids.append(f"hips/{environment_id}-v0")
        if ids[-1] not in gymnasium.registry:
            entry = f"{__name__}:PuzzleEnv"
            gymnasium.register(ids[-1], entry_point=entry, kwargs={"domain": name})
    return tuple(ids)


register_environments()
