"""Answers of `hips web` while many clients search: none lost, and how long the page takes."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import numpy as np

CLIENTS = 200
DOMAIN = "sliding_tiles"


@contextmanager
def _server() -> Iterator[str]:
    """The address of `hips web` in a process of its own, as clients find it."""
    command = [sys.executable, "-m", "hips", "web", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            found = re.search(r"http://\S+", said)
            if found is None:
                raise RuntimeError(f"the server did not start: {said}")
            yield found.group()
        finally:
            process.terminate()


async def _measure(address: str) -> tuple[int, list[float], float]:
    limits = httpx.Limits(max_connections=CLIENTS + 10)
    async with httpx.AsyncClient(base_url=address, timeout=600, limits=limits) as client:
        sampled = (await client.post("/api/sample", json={"domain": DOMAIN, "seed": 1})).json()
        problem = {name: sampled[name] for name in ("height", "width", "cells")}
        body = {"domain": DOMAIN, **problem, "max_expansions": 20}
        await client.post("/api/searches", json=body)  # compiles kernels, loads the model
        began = time.perf_counter()
        searches = [
            asyncio.create_task(client.post("/api/searches", json=body)) for _ in range(CLIENTS)
        ]
        waits: list[float] = []
        while not all(search.done() for search in searches):
            asked = time.perf_counter()
            (await client.get("/")).raise_for_status()
            waits.append(1000 * (time.perf_counter() - asked))
            await asyncio.sleep(0.05)
        texts = [one.text for one in await asyncio.gather(*searches)]
        answered = sum("event: result" in text for text in texts)
        for text in texts:
            if "event: result" not in text:
                print("not answered:", text[-300:])
        return answered, waits, time.perf_counter() - began


def main() -> None:
    with _server() as address:
        answered, waits, seconds = asyncio.run(_measure(address))
    middle, high = np.percentile(waits, [50, 99])
    print(f"{answered} of {CLIENTS} searches answered in {seconds:.1f} s")
    print(f"page: median {middle:.0f} ms, 99 % {high:.0f} ms, longest {max(waits):.0f} ms")


if __name__ == "__main__":
    main()
