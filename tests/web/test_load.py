"""Many clients at once, on this machine: none is lost, and nothing piles up."""

from __future__ import annotations

import asyncio

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from hips.web.floor import Floor
from hips.web.limits import Limits
from hips.web.stream import Searches, SearchRequest
from tests.web.conftest import Serve
from tests.web.talking import sample

CLIENTS = 200


@pytest.mark.slow
def test_two_hundred_searches_at_once_are_all_answered(serve: Serve) -> None:
    address = serve(Limits())
    with httpx.Client(base_url=address, timeout=60) as client:
        problem = sample(client, "sliding_tiles")

    async def one(client: httpx.AsyncClient) -> str:
        response = await client.post("/api/searches", json={**problem, "max_expansions": 20})
        return response.text.rsplit("event: ", 1)[1].split("\n")[0]

    async def every() -> list[str]:
        limits = httpx.Limits(max_connections=CLIENTS + 10)
        async with httpx.AsyncClient(base_url=address, timeout=300, limits=limits) as client:
            searches = [asyncio.create_task(one(client)) for _ in range(CLIENTS)]
            pages = [await client.get("/") for _ in range(20)]
            assert all(page.is_success for page in pages)
            return list(await asyncio.gather(*searches))

    assert asyncio.run(every()) == ["result"] * CLIENTS
    assert httpx.get(f"{address}api/status").json() == {"open": 0, "waiting": 0}


def test_a_reader_that_stops_reading_stops_the_search(serve: Serve) -> None:
    with httpx.Client(base_url=serve(), timeout=60) as client:
        problem = sample(client, "sliding_tiles")

    async def run() -> list[int]:
        floor = Floor(Limits(idle_seconds=0.3))
        stream = await Searches(floor).start(SearchRequest(**problem, method="low_level"))
        sent: list[int] = []

        async def send(message: dict[str, object]) -> None:
            body = message.get("body", b"")
            assert isinstance(body, bytes)
            if b"event: rounds" in body:
                sent.append(len(body))
                await asyncio.Event().wait()  # a full socket

        async def receive() -> dict[str, object]:
            await asyncio.Event().wait()
            return {}

        await stream({"type": "http"}, receive, send)  # type: ignore[arg-type]
        assert floor.open == 0
        floor.close()
        return sent

    assert len(asyncio.run(run())) == 1
