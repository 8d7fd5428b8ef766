from __future__ import annotations

import json

import pytest

from hips import domains
from hips.errors import ConfigError
from hips.training.config import default_config, from_json, override, to_json


@pytest.mark.parametrize("name", domains.names())
@pytest.mark.parametrize("size", ["smoke", "laptop", "paper"])
def test_every_size_of_every_domain_survives_json(name: str, size: str) -> None:
    config = default_config(domains.create(name), size)  # type: ignore[arg-type]
    assert from_json(json.loads(json.dumps(to_json(config)))) == config


def test_paper_size_takes_the_papers_table() -> None:
    config = default_config(domains.create("tsp"), "paper")
    found = config.horizon, config.vqvae.num_codes, config.vqvae.code_dimension
    assert found == (50, 32, 64)
    assert (config.detector.segment_penalty, config.vqvae.commitment) == (0.05, 0.0)
    assert config.quality == 0.0


def test_overrides_keep_types() -> None:
    config = default_config(domains.create("sliding_tiles"))
    changed = override(
        config,
        ["vqvae.num_codes=32", "policy.learning_rate=2e-4", "network.positions=false",
         "segmentation=dp"],
    )  # fmt: skip
    assert changed.vqvae.num_codes == 32
    assert changed.policy.learning_rate == 2e-4
    assert changed.network.positions is False
    assert changed.segmentation == "dp"


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("vqvae.num_codes", "form"),
        ("vqvae.numcodes=3", "num_codes"),
        ("vqvae=3", "name one setting"),
        ("vqvae.num_codes=many", "int"),
        ("segmentation=guess", "detector, dp, events"),
        ("network.positions=2", "true or false"),
        ("nothing.at=1", "Available"),
    ],
)
def test_bad_overrides_say_what_is_allowed(assignment: str, message: str) -> None:
    config = default_config(domains.create("sliding_tiles"))
    with pytest.raises(ConfigError, match=message):
        override(config, [assignment])
