"""Domains that break their contract: one message each, and no proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import Commands

DOMAIN = """
import numpy as np
from dataclasses import dataclass
from hips.domains import register
from hips.domains.sliding_tiles import SlidingTiles

@register("odd")
@dataclass(frozen=True)
class Odd(SlidingTiles):
    '''Tiles with one fault.'''

    {fault}
"""
FAULTS = {
    "step(self, states, actions): return None": "`step` must return uint8",
    "step(self, states, actions): return states[:, :1]": "`step` must return uint8",
    "step(self, states, actions): return states + 0.5": "`step` must return uint8",
    "step(self, states, actions): return states[:-1]": "`step` must return uint8",
    "is_goal(self, states): return None": "with the plug-in odd.py",
    "is_goal(self, states): return np.ones(0, bool)": "with the plug-in odd.py",
    "sample(self, rng, count): return None": "with the plug-in odd.py",
    "for_grid(self, grid): return None": "with the plug-in odd.py",
    "estimate(self, states): return np.zeros(len(states) + 1)": "a heuristic must return",
    "estimate(self, states): return 'far'": "with the plug-in odd.py",
    "is_dead(self, states): return None": "with the plug-in odd.py",
    "tidy(self, state, actions): return None": "with the plug-in odd.py",
}
"""A method of the domain, and what the message says."""


def solve(commands: Commands, folder: Path, fault: str) -> tuple[int, str]:
    (folder / "odd.py").write_text(DOMAIN.format(fault=fault))
    words = ("solve", "odd", "--plugin", "odd.py", "--set", "height=2", "--set", "width=2")
    words += ("--count", "2", "--method", "guided", "--improve", "0.1")
    code = commands.run(words, folder)
    return code, (folder / "log").read_text()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_domain_that_breaks_its_contract_is_named(
    fault: str, commands: Commands, tmp_path: Path
) -> None:
    code, log = solve(commands, tmp_path, f"def {fault}")
    assert code == 2
    assert FAULTS[fault] in log
    assert "Traceback" not in log
    assert "UNSOLVABLE" not in log


def test_the_end_of_a_command_is_nobodys_fault(commands: Commands, tmp_path: Path) -> None:
    code, log = solve(commands, tmp_path, "about = 'no fault at all'")
    assert code in (0, 1)
    assert "with the plug-in" not in log
