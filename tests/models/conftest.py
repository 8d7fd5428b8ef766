from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hips import domains, parts
from hips.models.card import CARD
from hips.training.config import default_config, override
from tests.models.untrained import export_untrained
from tests.training.conftest import SHIPPED, few_samples, one_thread

__all__ = ["few_samples", "one_thread"]

Change = Callable[[Callable[[dict[str, Any]], Any]], Path]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of untrained networks: enough to test files, graphs and completeness."""
    domain = domains.create("sliding_tiles", height=3, width=3)
    out: Path = tmp_path_factory.mktemp("models") / "tiny"
    config = default_config(domain, parts.known(SHIPPED), "smoke")
    codes = ["subgoals.num_codes=8", "prior.num_codes=8"]
    export_untrained(domain, override(config, codes), out)
    return out


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy"))


@pytest.fixture
def change_card(copy: Path) -> Change:
    """Changes the card of a copy of the model, which is given back."""
    original = (copy / CARD).read_text()

    def change(function: Callable[[dict[str, Any]], Any]) -> Path:
        content = json.loads(original)
        function(content)
        (copy / CARD).write_text(json.dumps(content))
        return copy

    return change
