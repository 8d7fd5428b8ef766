"""Pictures of a report: frames of a plan side by side."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from PIL import Image as PillowImage

from hips import domains
from hips.benchmark.document import Picture, Section
from hips.benchmark.experiments import Part
from hips.benchmark.queries import Chosen
from hips.pictures import plan_frames

FRAMES = 6
STRIP_CELL_PIXELS = 180
GAP = 8


def once(sections: Sequence[Section]) -> list[Section]:
    """The sections, each picture only where it comes first: experiments share runs."""
    seen: set[bytes] = set()
    made: list[Section] = []
    for section in sections:
        fresh = tuple(picture for picture in section.pictures if picture.png not in seen)
        seen.update(picture.png for picture in fresh)
        made.append(replace(section, pictures=fresh))
    return made


def draw(part: Part, chosen: Chosen) -> list[Picture]:
    """A strip of frames of one instance's plan, by the last row that has one."""
    for row in reversed(part.rows):
        found = chosen.example(row.name)
        if found is None:
            continue
        name, parameters, level, plan = found
        if name not in domains.names():
            return []
        domain = domains.create(name, **json.loads(parameters))
        actions = domain.spec.action_indices(plan)
        cell = max(2, STRIP_CELL_PIXELS // max(domain.spec.shape))
        frames = plan_frames(domain, domain.parse(level), actions, cell)
        places = np.unique(np.linspace(0, len(frames) - 1, FRAMES).astype(int))
        caption = f"{part.suite.label}: a plan of {len(plan)} steps by {row.label}"
        return [Picture(caption, _strip([frames[place] for place in places]))]
    return []


def _strip(frames: list[domains.Image]) -> bytes:
    """Frames side by side, as a PNG."""
    gap = np.full((frames[0].shape[0], GAP, 3), 255, dtype=np.uint8)
    pieces = [piece for frame in frames for piece in (frame, gap)][:-1]
    target = io.BytesIO()
    PillowImage.fromarray(np.concatenate(pieces, axis=1)).save(target, "PNG", optimize=True)
    return target.getvalue()
