"""The numbers that networks compute with in training."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from hips import parts
from hips.errors import ConfigError
from hips.seeding import stream
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from hips.training.devices import choose_precision
from hips.training.loop import StageRun
from hips.training.pipeline import ordered_stages
from hips.training.progress import Reporter
from tests.models.untrained import ALONE, untrained, workshop
from tests.training.test_loop import ONE_STAGE, short_config

CPU = torch.device("cpu")


def test_a_precision_is_found_by_its_name() -> None:
    assert choose_precision("float32", CPU) == torch.float32
    assert choose_precision("bfloat16", CPU) == torch.bfloat16


def test_an_unknown_precision_is_refused(config: TrainingConfig) -> None:
    with pytest.raises(ConfigError, match="Available: float32, bfloat16, auto"):
        override(config, ["precision=half"])


@pytest.mark.parametrize(
    ("abilities", "expected"),
    [
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"avx512_bf16": False, "amx_bf16": True}, torch.bfloat16),
        ({"avx512_f": True}, torch.float32),
        ({}, torch.float32),
    ],
)
def test_auto_is_the_faster_precision_of_the_processor(
    abilities: dict[str, bool], expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: abilities)
    assert choose_precision("auto", CPU) == expected


@pytest.mark.parametrize("name", [*ONE_STAGE, "dynamics", "familiarity"])
def test_parts_learn_in_sixteen_bits(
    name: str, corpus: Corpus, tmp_path: Path, few_samples: None
) -> None:
    config = short_config(corpus, name)
    group = dataclasses.replace(ALONE, precision=torch.bfloat16)
    results = []
    for chosen, folder in ((group, "first"), (group, "again"), (ALONE, "full")):
        networks = untrained(corpus.domain, config)
        work = workshop(corpus.domain, config, networks, tmp_path, corpus)
        stage = parts.get(name).stages(config)[0].build(work)
        run = StageRun(name, stage, tmp_path / folder, 0, Reporter(None), chosen)
        run.run()
        results.append(_weights(networks[name]))
    reduced, again, full = results
    assert reduced.dtype == torch.float32
    assert torch.equal(reduced, again)  # the same seed, the same result
    assert not torch.equal(reduced, full)  # it does compute otherwise


@pytest.mark.parametrize("segmentation", ["events", "alternating", "detector", "distilled"])
def test_every_stage_can_learn_in_sixteen_bits(
    segmentation: str, config: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    chosen = override(config, [f"segmentation.method={segmentation}"])
    group = dataclasses.replace(ALONE, precision=torch.bfloat16)
    networks = untrained(corpus.domain, chosen)
    work = workshop(corpus.domain, chosen, networks, tmp_path, corpus)
    for spec in ordered_stages({name: parts.get(name) for name in chosen.parts}, chosen):
        stage = spec.build(work)
        drawn = stage.batch(stream(0, spec.name), 8)
        stage.objective.train()
        with group.arithmetic():
            loss, _ = stage.objective(drawn)
        loss.backward()
        assert torch.isfinite(loss), spec.name


def _weights(network: nn.Module) -> Tensor:
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])
