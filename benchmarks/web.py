"""Answers of `hips web` while many clients search: none lost, and how long the page takes."""

from __future__ import annotations

import asyncio
import threading
import time

import httpx
import numpy as np

from hips.web.server import Address, prepare

CLIENTS = 200
DOMAIN = "sliding_tiles"


async def _measure(address: str) -> tuple[int, list[float], float]:
    limits = httpx.Limits(max_connections=CLIENTS + 10)
    async with httpx.AsyncClient(base_url=address, timeout=600, limits=limits) as client:
        sampled = (await client.post("/api/sample", json={"domain": DOMAIN, "seed": 1})).json()
        problem = {name: sampled[name] for name in ("height", "width", "cells")}
        body = {"domain": DOMAIN, **problem, "max_expansions": 20}
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
    site = prepare(Address(port=0))
    threading.Thread(target=site.run, daemon=True).start()
    answered, waits, seconds = asyncio.run(_measure(site.url))
    site.stop()
    middle, high = np.percentile(waits, [50, 99])
    print(f"{answered} of {CLIENTS} searches answered in {seconds:.1f} s")
    print(f"page: median {middle:.0f} ms, 99 % {high:.0f} ms, longest {max(waits):.0f} ms")


if __name__ == "__main__":
    main()
