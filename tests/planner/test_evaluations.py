from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hips.errors import ConfigError, UnknownNameError
from hips.planner.evaluations import EVALUATIONS, Evaluation, resolve, weighted

getcontext().prec = 60
PAPER = (
    "phs_hat",
    "phs_star",
    "levin_ts",
    "depth",
    "dist",
    "astar",
    "weighted_astar",
    "gbfs",
)


def exact(name: str, g: int, steps: int, log_pi: float, h: float) -> Decimal:
    """The formulas of the paper in sixty digits; log φ for those with a policy."""
    pi, loss, low, far = Decimal(log_pi).exp(), Decimal(g), Decimal(steps), Decimal(h)
    formulas = {
        "phs_hat": lambda: (loss * (1 + far / low) / pi ** (1 + far / low)).ln(),
        "phs_star": lambda: ((1 + far / low) / pi ** (far / low) * low / pi).ln(),
        "levin_ts": lambda: (loss / pi).ln(),
        "depth": lambda: ((loss + far) / pi).ln(),
        "dist": lambda: ((low + far) / pi).ln(),
        "astar": lambda: low + far,
        "weighted_astar": lambda: low + 2 * far,
        "gbfs": lambda: far,
    }
    return formulas[name]()


def key(name: str, g: int, steps: int, log_pi: float, h: float) -> float:
    arrays = (np.array([g]), np.array([steps]), np.array([log_pi]), np.array([float(h)]))
    return float(resolve(name).key(*arrays)[0])


def test_all_of_the_paper_are_registered() -> None:
    assert set(PAPER) <= set(EVALUATIONS.names())


@pytest.mark.parametrize("name", PAPER)
@given(
    g=st.integers(1, 500),
    per_node=st.integers(1, 20),
    log_pi=st.floats(-2000, 0),
    h=st.floats(0, 500),
)
def test_keys_equal_the_formulas(name: str, g: int, per_node: int, log_pi: float, h: float) -> None:
    expected = float(exact(name, g, g * per_node, log_pi, h))
    assert key(name, g, g * per_node, log_pi, h) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", PAPER)
@given(
    g=st.integers(1, 10**6),
    steps=st.integers(1, 10**7),
    log_pi=st.floats(-1e9, 0),
    h=st.floats(0, 1e9),
)
def test_keys_are_finite_whatever_the_inputs(
    name: str, g: int, steps: int, log_pi: float, h: float
) -> None:
    assert np.isfinite(key(name, g, steps, log_pi, h))


@pytest.mark.parametrize("name", PAPER[:5])
def test_phi_is_zero_at_the_root(name: str) -> None:
    assert key(name, 0, 0, 0.0, 12.0) == -np.inf


def test_zero_heuristic_makes_phs_hat_levin_ts() -> None:
    assert key("phs_hat", 7, 30, -12.5, 0) == pytest.approx(key("levin_ts", 7, 30, -12.5, 0))


def test_any_function_can_be_an_evaluation() -> None:
    own = resolve(lambda g, steps, log_pi, h: -steps.astype(float))
    assert isinstance(own, Evaluation)
    assert own.key(np.array([1]), np.array([5]), np.zeros(1), np.zeros(1)) == [-5.0]


def test_unknown_names_and_weights_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'phs_hat'"):
        resolve("phs_hut")
    with pytest.raises(ConfigError):
        weighted(-1.0)
