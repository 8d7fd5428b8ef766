"""Requests as the page makes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx


def sample(client: httpx.Client, domain: str, seed: int = 1) -> dict[str, Any]:
    """A problem as requests describe it."""
    found = client.post("/api/sample", json={"domain": domain, "seed": seed}).json()
    return {"domain": domain, **{name: found[name] for name in ("height", "width", "cells")}}


def events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """The events of a stream."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def search(client: httpx.Client, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """All events of a search."""
    with client.stream("POST", "/api/searches", json=body) as response:
        return list(events(response))
