"""Named random streams: one seed per run, one stream per purpose.

Streams are derived from their *names*, so a new purpose never changes what the others draw.
"""

from __future__ import annotations

import hashlib

import numpy as np

SEALED = "sealed"
"""Name reserved for the instances of final figures; only `sealed_stream` may begin with it."""


def stream_seed(seed: int, *names: str | int) -> int:
    """A 128-bit seed for the stream called `names` under `seed`."""
    label = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(label.encode(), digest_size=16).digest(), "little")


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator for the stream called `names` under `seed`.

    >>> bool(stream(0, "demo").integers(100) == stream(0, "demo").integers(100))
    True
    """
    assert names[:1] != (SEALED,), "the sealed stream is for final figures only"
    return np.random.Generator(np.random.PCG64(stream_seed(seed, *names)))


def sealed_stream(seed: int, *names: str | int) -> np.random.Generator:
    """A generator that no `stream` shares, for instances that nothing is tuned on."""
    return np.random.Generator(np.random.PCG64(stream_seed(seed, SEALED, *names)))
