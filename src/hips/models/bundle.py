"""Trained models on disk: finding, checking and opening them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hips import domains
from hips.domains.base import Domain
from hips.errors import ModelError, UnknownNameError
from hips.files import sha256
from hips.models.card import CARD, WEIGHTS, Card, read_card
from hips.models.runtime import GraphRuntime, OnnxGraph, Precision

logger = logging.getLogger(__name__)

SEARCH_VARIABLE = "HIPS_MODELS"
"""Environment variable: a folder of models that takes precedence over the built-in ones."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A model with verified files.

    Attributes:
        folder: the model's folder.
        card: its card.
        domain: the domain to use it for, at the requested size.
    """

    folder: Path
    card: Card
    domain: Domain

    def runtime(self, precision: Precision = "fp32", threads: int = 1) -> GraphRuntime:
        """Its graphs, run by ONNX Runtime on the CPU.

        Args:
            precision: `int8` takes the quantised graphs where the model has them.
            threads: number of threads that share the rows of a call.
        """
        graphs = {
            graph: OnnxGraph(self.folder / files.get(precision, files["fp32"]))
            for part in self.card.parts.values()
            for graph, files in part.graphs.items()
        }
        return GraphRuntime(graphs, threads)


def shipped_folder() -> Path:
    """The folder of the built-in models."""
    return Path(__file__).parent / "shipped"


def search_path() -> list[Path]:
    """Folders to search for models; the first match wins."""
    extra = os.environ.get(SEARCH_VARIABLE)
    return [*([Path(extra)] if extra else []), shipped_folder()]


def installed() -> dict[str, Path]:
    """Folders of all installed models, by name."""
    found: dict[str, Path] = {}
    for root in search_path():
        for card in sorted(root.glob(f"*/{CARD}")):
            if root != shipped_folder() and not _is_readable(card.parent):
                continue
            found.setdefault(card.parent.name, card.parent)
    return found


def _is_readable(folder: Path) -> bool:
    """Whether a model of the user is valid; warns if not, so that another one serves.

    Hashes take time, so they are compared only where a built-in model of this name can serve.
    """
    try:
        card = read_card(folder)
        if (shipped_folder() / folder.name / CARD).exists():
            _check_files(folder, card)
    except ModelError as error:
        logger.warning("%s Skipping this model.", error)
        return False
    return True


def find(name_or_folder: str | Path) -> Path | None:
    """The folder of a model, given an installed model's name or a folder; None if missing."""
    folder = Path(name_or_folder)
    return folder if (folder / CARD).exists() else installed().get(str(name_or_folder))


def require(name_or_folder: str | Path) -> Path:
    """The folder of a model; an error if it is missing."""
    folder = find(name_or_folder)
    if folder is None:
        available = ", ".join(installed()) or "none"
        raise ModelError(
            f"No model '{name_or_folder}'. Installed: {available}. "
            f"Train one with `hips train`, or point {SEARCH_VARIABLE} at a folder of models."
        )
    return folder


def load(name_or_folder: str | Path, domain: Domain | None = None) -> Bundle:
    """Finds and checks a model.

    Args:
        name_or_folder: e.g. `"sokoban"` or `runs/mine/model`.
        domain: the domain to use it for; None for the domain it was trained on.

    Raises:
        ModelError: the model is missing, damaged, of another format, or for another domain or size.
    """
    folder = require(name_or_folder)
    card = read_card(folder)
    _check_files(folder, card)
    own = domain or _domain_of(folder, card)
    reason = card.misfit(own)
    if reason is not None:
        raise ModelError(f"{folder}: {reason}.")
    return Bundle(folder, card, own)


def _domain_of(folder: Path, card: Card) -> Domain:
    """The domain that a model was trained on."""
    try:
        return domains.create(card.domain, **card.parameters)
    except UnknownNameError as error:
        raise ModelError(
            f"{folder}: {error} If the domain comes from a plug-in, load it with --plugin FILE."
        ) from None


def _check_files(folder: Path, card: Card) -> None:
    for name, expected in card.files.items():
        path = folder / name
        if not name or name == ".." or Path(name).name != name:
            raise ModelError(f"{folder}: the card names a file outside its folder ({name}).")
        if name == WEIGHTS and not path.exists():
            continue  # only training needs them; the wheel leaves them out
        if not path.is_file():
            raise ModelError(f"{folder}: the file {name} is missing; install the model again.")
        if sha256(path) != expected:
            raise ModelError(
                f"{path}: damaged (its hash differs from the card's); install it again."
            )
    for name in _named(card):
        if name not in card.files:
            raise ModelError(f"{folder}: the card has no hash of {name}; install the model again.")


def _named(card: Card) -> Iterator[str]:
    """Files named by the parts of a card."""
    for part in card.parts.values():
        for files in part.graphs.values():
            yield from files.values()
