"""A trained model on disk: ONNX graphs, weights to continue from, and a card with hashes."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hips import domains
from hips.domains import Domain
from hips.errors import ConfigError, HipsError, MissingExtraError, ModelError
from hips.files import read_json, sha256, write_json
from hips.models.runtime import GraphRuntime, OnnxRuntime, Precision

FORMAT_VERSION = 2
CARD = "card.json"
SEARCH_VARIABLE = "HIPS_MODELS"
"""Environment variable: a folder of bundles that takes precedence over the shipped ones."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A model that is ready to use.

    Attributes:
        folder: where it lies.
        card: everything the card says (domain, configuration, data, cost, scores, hashes).
        domain: the domain it was trained for.
        runtime: its networks.
    """

    folder: Path
    card: dict[str, Any]
    domain: Domain
    runtime: GraphRuntime

    @property
    def horizon(self) -> int:
        """H: the most low-level steps to a subgoal."""
        return int(self.card["configuration"]["horizon"])

    @property
    def num_codes(self) -> int:
        """K: size of the codebook."""
        return int(self.card["configuration"]["vqvae"]["num_codes"])


def shipped_folder() -> Path:
    """Where the models that come with the package lie."""
    return Path(__file__).parent / "shipped"


def search_path() -> list[Path]:
    """Folders that are searched for bundles, first hit wins."""
    extra = os.environ.get(SEARCH_VARIABLE)
    return [*([Path(extra)] if extra else []), shipped_folder()]


def installed() -> dict[str, Path]:
    """All bundles that can be found, by name."""
    found: dict[str, Path] = {}
    for root in search_path():
        for card in sorted(root.glob(f"*/{CARD}")):
            found.setdefault(card.parent.name, card.parent)
    return found


def find(name: str) -> Path | None:
    """The folder of the bundle called `name`, or None."""
    return installed().get(name)


def suits(domain: Domain) -> bool:
    """Whether a model of the domain's name is installed that takes grids of its size."""
    folder = find(domain.name)
    return folder is not None and _misfit(read_card(folder), domain) is None


def read_card(folder: Path) -> dict[str, Any]:
    """A bundle's card, with its format version checked."""
    try:
        card = read_json(folder / CARD)
    except HipsError as error:
        raise ModelError(f"{folder}: not a model ({error})") from None
    version = card.get("format_version") if isinstance(card, dict) else None
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{folder}: the model has format {version}, this version reads {FORMAT_VERSION}; "
            "train it again or install a matching version."
        )
    return dict(card)


def load(
    name_or_folder: str | Path,
    domain: Domain | None = None,
    threads: int = 1,
    precision: Precision = "fp32",
    device: str | None = None,
) -> Bundle:
    """Loads and checks a bundle, by the name of an installed one or by folder.

    Args:
        name_or_folder: e.g. `"sokoban"` or `runs/mine/model`.
        domain: what it is wanted for; a model of another domain is refused.
        threads: for the runtime.
        precision: `int8` is faster and takes the quantised graphs that the bundle has.
        device: None runs the graphs with ONNX Runtime on the CPU; `cpu`, `cuda`, `cuda:1` … or
            `auto` runs the fp16 weights with torch on that device.

    Raises:
        ModelError: missing, damaged, of another format or for another domain.
        ConfigError: there is no such device, or it is asked for int8.
        MissingExtraError: a device is asked for and torch is not installed.
    """
    if device is not None and precision == "int8":
        raise ConfigError("int8 runs on the CPU without torch; leave the device or int8 out.")
    folder = Path(name_or_folder)
    if not (folder / CARD).exists():
        found = find(str(name_or_folder))
        if found is None:
            available = ", ".join(installed()) or "none"
            raise ModelError(
                f"No model '{name_or_folder}'. Installed: {available}. "
                f"Train one with `hips train`, or point {SEARCH_VARIABLE} at a folder of models."
            )
        folder = found
    card = read_card(folder)
    _check_files(folder, card)
    if domain is not None and domain.name != card["domain"]:
        raise ModelError(f"{folder}: made for '{card['domain']}', not for '{domain.name}'.")
    own = domain or domains.create(card["domain"], **card["parameters"])
    _check_shape(folder, card, own)
    if device is None:
        return Bundle(folder, card, own, OnnxRuntime(folder, card["files"], threads, precision))
    return Bundle(folder, card, own, _torch_runtime(folder, card, own, device, threads))


def _torch_runtime(
    folder: Path, card: dict[str, Any], domain: Domain, device: str, threads: int
) -> GraphRuntime:
    try:
        from hips.models.networks.torch_runtime import TorchRuntime
    except ImportError as error:
        raise MissingExtraError(f"Running a model on a device ({error.name})", "train") from None
    return TorchRuntime.open(folder, card["configuration"], domain.spec, device, threads)


def _check_files(folder: Path, card: dict[str, Any]) -> None:
    for name, expected in card["files"].items():
        path = folder / name
        if not path.exists():
            raise ModelError(f"{folder}: the file {name} is missing; install the model again.")
        if sha256(path) != expected:
            raise ModelError(f"{path}: damaged (its hash is not the card's); install it again.")


def _check_shape(folder: Path, card: dict[str, Any], domain: Domain) -> None:
    reason = _misfit(card, domain)
    if reason is not None:
        raise ModelError(f"{folder}: made for {reason}.")


def _misfit(card: dict[str, Any], domain: Domain) -> str | None:
    """Why a model cannot take the domain's states, or None if it can."""
    spec, trained = domain.spec, card["spec"]
    if [spec.num_symbols, spec.num_actions] != [trained["symbols"], trained["actions"]]:
        return "another alphabet or other actions"
    fixed = card["configuration"]["network"]["positions"]
    if fixed and [spec.height, spec.width] != [trained["height"], trained["width"]]:
        size = f"{trained['height']}×{trained['width']}"
        return f"grids of {size}, not {spec.height}×{spec.width}"
    return None


def fingerprint(folder: Path) -> str:
    """One hash for all files of a bundle; what is added to its card later does not change it."""
    files = read_card(folder)["files"]
    return hashlib.sha256("\n".join(f"{n} {files[n]}" for n in sorted(files)).encode()).hexdigest()


def add_to_card(folder: Path, facts: dict[str, Any]) -> None:
    """Adds measurements to a bundle's card."""
    write_json(folder / CARD, {**read_card(folder), **facts})
