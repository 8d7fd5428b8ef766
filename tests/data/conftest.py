from __future__ import annotations

from pathlib import Path

import pytest

from hips.data import Demonstrations, collect
from tests.toys import LineWorld


@pytest.fixture
def dataset(tmp_path: Path) -> Demonstrations:
    return collect(LineWorld(), count=300, seed=1, out=tmp_path / "data", quality=0.5)
