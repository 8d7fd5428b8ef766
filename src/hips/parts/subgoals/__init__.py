"""The subgoal generator of the paper: a VQ-VAE whose codes stand for subgoals."""

from __future__ import annotations

from typing import Any

from hips import parts
from hips.domains.base import Domain
from hips.parts.blocks.config import suitable_trunk
from hips.parts.folder import FolderPart
from hips.parts.subgoals.config import SubgoalConfig
from hips.training.schedule import Size

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
    upstream = ("reach_policy",)
    headline = "coverage"
    default = True

    def configure(self, domain: Domain, size: Size) -> SubgoalConfig:
        """K, D and β of the paper."""
        preset, usual = domain.preset, SubgoalConfig()
        return SubgoalConfig(
            trunk=suitable_trunk(domain.spec, size),
            num_codes=preset.num_codes,
            code_dimension=preset.code_dimension,
            commitment=preset.commitment,
            continuous=usual.continuous.sized(size),
            discrete=usual.discrete.sized(size),
            **(SMOKE if size == "smoke" else {}),
        )
