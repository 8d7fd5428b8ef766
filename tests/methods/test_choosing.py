"""Which model a node accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hips import domains
from hips.errors import ModelError
from hips.methods.choosing import Choice, find_model
from hips.models.bundle import shipped_folder
from hips.planner.components import Components


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        ("sliding_tiles", "HIPS_MODELS names on every node"),
        (shipped_folder() / "sliding_tiles", "sees under this path"),
        (Path("/run/of/another/machine/model"), "sees under this path"),
    ],
)
def test_another_model_than_that_of_the_command_is_refused_with_a_remedy(
    model: str | Path, remedy: str
) -> None:
    choice = Choice(model=model, fingerprint="of another model")
    with pytest.raises(ModelError, match=remedy):
        find_model(domains.create("sliding_tiles"), choice, Components())
