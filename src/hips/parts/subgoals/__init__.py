"""The subgoal generator of the paper: a VQ-VAE whose codes stand for subgoals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import TrunkConfig, suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.subgoals.config import SubgoalConfig
from hips.training.schedule import PAPER_MODEL_RATE, Size
from hips.training.survey import Survey, suggested
from hips.training.verdict import Gauge

SMOKE: dict[str, Any] = {
    "encoder_channels": 16,
    "head_channels": 16,
    "head_layers": 1,
}


@parts.register
class SubgoalPart(FolderPart):
    """g(e, s)."""

    name = "subgoals"
    about = "proposes states several moves ahead (VQ-VAE)"
    config_type = SubgoalConfig
    upstream = ("reach_policy", "prior")
    headline = "coverage"
    gauges: ClassVar[Mapping[str, Gauge]] = {
        "coverage": Gauge(
            "demonstrated subgoals are among the decoded ones",
            good=0.7,
            useless=0.2,
            advice="raise subgoals.discrete.steps or subgoals.num_codes, or shorten the horizon",
        ),
        "usable": Gauge(
            "decoded subgoals are usable (legal and reached by the policy)",
            good=0.3,
            useless=0.1,
            advice="train the VQ-VAE longer (subgoals.discrete.steps) or shorten the horizon",
        ),
        "codes_in_use": Gauge("the codebook is in use (perplexity divided by K)"),
    }
    default = True

    def configure(self, domain: Domain, size: Size, survey: Survey | None = None) -> SubgoalConfig:
        """K, D and β of the paper."""
        preset, usual = suggested(domain, survey), SubgoalConfig()
        trunk = suitable_trunk(domain.spec, size, survey)
        return SubgoalConfig(
            trunk=trunk,
            num_codes=preset.num_codes,
            code_dimension=preset.code_dimension,
            commitment=preset.commitment,
            continuous=usual.continuous.sized(size, PAPER_MODEL_RATE),
            discrete=usual.discrete.sized(size, PAPER_MODEL_RATE),
            foreseen=usual.foreseen.sized(size, PAPER_MODEL_RATE),
            **_widths(size, trunk),
        )


def _widths(size: Size, trunk: TrunkConfig) -> dict[str, Any]:
    """Sizes of the encoder and of the head that differ from the usual ones."""
    if trunk.mixing:
        layers = {"encoder_blocks": 1, "head_layers": 1}
        return {"encoder_channels": trunk.channels, "head_channels": trunk.channels, **layers}
    return SMOKE if size == "smoke" else {}
