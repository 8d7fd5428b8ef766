"""The server through its interface: problems, searches, limits and safety."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import re
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from hips import domains, methods, web
from hips.planner.settings import knobs
from hips.web.guard import COOKIE, Access, Guard
from hips.web.limits import Limits
from hips.web.server import Address, prepare
from tests.web.conftest import Serve
from tests.web.talking import events, sample, search

DOMAINS = [  # other tests of this process may have registered more
    name
    for name in domains.names()
    if type(domains.create(name)).__module__.startswith("hips.domains.")
]
PATIENCE = 10.0
"""Seconds after which a search without a reader has surely ended, also on a busy machine."""


@pytest.mark.parametrize("name", DOMAINS)
def test_every_domain_is_sampled_drawn_and_read_again(client: httpx.Client, name: str) -> None:
    problem = sample(client, name)
    checked = client.post("/api/check", json=problem).json()
    assert checked["fault"] == ""
    assert not checked["solved"]
    text = {"domain": name, "text": checked["text"]}
    parsed = client.post("/api/parse", json=text).json()
    assert parsed["levels"][0]["cells"] == problem["cells"]
    assert parsed["unreadable"] == []
    pictures = client.post("/api/pictures", json={**problem, "cells": [problem["cells"]] * 3})
    assert pictures.content.startswith(b"\x89PNG")
    assert client.post("/api/symbols", json={"domain": name}).content.startswith(b"\x89PNG")


def test_a_pasted_level_that_is_none_is_named_and_the_others_are_read(client: httpx.Client) -> None:
    text = "; first\n1 0 2 3\n\n1 1 2 3\n; third\n2 0 1 3"
    parsed = client.post("/api/parse", json={"domain": "sliding_tiles", "text": text}).json()
    assert [level["title"] for level in parsed["levels"]] == ["first", "third"]
    assert parsed["unreadable"] == ["line 4, column 3: tile 1 occurs twice; each must occur once"]


@pytest.mark.parametrize("name", DOMAINS)
def test_half_drawn_levels_get_a_reason_and_a_picture(client: httpx.Client, name: str) -> None:
    problem = sample(client, name)
    empty = base64.b64encode(bytes(problem["height"] * problem["width"])).decode()
    blank = {**problem, "cells": empty}
    assert client.post("/api/check", json=blank).json()["fault"]
    assert client.post("/api/pictures", json={**blank, "cells": [blank["cells"]]}).is_success


@pytest.mark.parametrize("name", DOMAINS)
def test_moves_by_hand_follow_the_rules(client: httpx.Client, name: str) -> None:
    problem = sample(client, name)
    domain = domains.create(name)
    moved = [
        client.post("/api/step", json={**problem, "action": action}).json()["moved"]
        for action in domain.spec.actions
    ]
    assert any(moved)
    assert client.post("/api/step", json={**problem, "action": "fly"}).status_code == 422


@pytest.mark.parametrize("name", DOMAINS)
def test_a_search_streams_rounds_and_ends_with_a_plan(client: httpx.Client, name: str) -> None:
    found = search(client, sample(client, name))
    names = [event for event, _ in found]
    assert names[:2] == ["opened", "started"]
    assert names[-1] == "result"
    result = found[-1][1]
    assert result["outcome"] == "SOLVED"
    assert len(result["states"]) == result["length"] + 1
    rounds = [one for event, content in found if event == "rounds" for one in content["rounds"]]
    assert [one["order"] for one in rounds] == list(range(1, result["expansions"] + 1))
    known = {rounds[0]["node"], *(row[0] for one in rounds for row in one["children"])}
    assert all(one["node"] in known for one in rounds)


def test_every_usable_method_runs(client: httpx.Client) -> None:
    offered = client.get("/api/catalogue").json()
    assert set(offered["methods"]) >= set(methods.SHIPPED)
    assert set(offered["settings"]) == set(knobs())
    domain = next(d for d in offered["domains"] if d["name"] == DOMAINS[0])
    problem = sample(client, domain["name"])
    for name in set(domain["methods"]) & set(methods.SHIPPED):
        last, content = search(client, {**problem, "method": name, "max_seconds": 5})[-1]
        assert last == "result", content
        assert content["method"] == name


def test_examples_and_contrasts_come_from_the_registries(client: httpx.Client) -> None:
    offered = client.get("/api/catalogue").json()
    for domain in offered["domains"]:
        example = domains.create(domain["name"]).example
        assert domain["example"] == (None if example is None else asdict(example))
    contrasts = {name: one["contrast"] for name, one in offered["methods"].items()}
    assert {one for one in contrasts.values() if one} <= set(contrasts)
    assert any(d["example"] for d in offered["domains"])


def test_the_page_names_no_domain_and_no_method() -> None:
    # `hips` is the command, and HTML has short names of its own.
    names = {name for name in (*domains.names(), *methods.names()) if len(name) > 2} - {"hips"}
    for file in (Path(web.__file__).parent / "static").rglob("*.*"):
        words = set(re.findall(r"\w+", file.read_text()))
        assert not words & names, file.name


def test_settings_reach_the_search(client: httpx.Client) -> None:
    body = {**sample(client, DOMAINS[0]), "settings": {"epsilon": "0+", "top_p": 0.9}}
    started = dict(search(client, body))["started"]
    assert started["settings"]["epsilon"] == 0.0
    assert started["settings"]["top_p"] == 0.9


def test_step_pause_and_stop(client: httpx.Client) -> None:
    body = {**sample(client, "sliding_tiles"), "method": "low_level", "paused": True}
    with client.stream("POST", "/api/searches", json=body) as response:
        stream = events(response)
        number = next(stream)[1]["id"]
        assert [next(stream)[0], next(stream)[0]] == ["started", "paused"]

        def command(**order: Any) -> None:
            httpx.post(str(response.url) + f"/{number}", json=order, timeout=20).raise_for_status()

        command(do="step", rounds=3)
        seen = list(itertools.takewhile(lambda one: one[0] != "paused", stream))
        assert sum(len(content["rounds"]) for _, content in seen) == 3
        command(do="stop")
        name, result = next(stream)
    assert (name, result["outcome"], result["expansions"]) == ("result", "INTERRUPTED", 3)


def test_events_come_at_most_thirty_times_a_second(client: httpx.Client) -> None:
    body = {**sample(client, "sliding_tiles"), "method": "low_level", "max_seconds": 1.0}
    began = time.monotonic()
    found = [name for name, _ in search(client, body)]
    assert found.count("rounds") <= 30 * (time.monotonic() - began) + 1


def test_the_tree_stops_growing_at_its_limit(serve: Serve) -> None:
    with httpx.Client(base_url=serve(Limits(nodes=50)), timeout=60) as client:
        body = {**sample(client, "sliding_tiles"), "method": "low_level", "max_expansions": 200}
        found = search(client, body)
    rows = [r for _, c in found if "rounds" in c and isinstance(c["rounds"], list)
            for one in c["rounds"] for r in one["children"]]  # fmt: skip
    assert len(rows) <= 50
    assert found[-1][1]["expansions"] == 200


def status(client: httpx.Client) -> dict[str, int]:
    found: dict[str, int] = client.get("/api/status").json()
    return found


@pytest.mark.parametrize("method", ["low_level", "lama"])
def test_a_closed_connection_ends_its_search(client: httpx.Client, method: str) -> None:
    offered = client.get("/api/catalogue").json()["domains"]
    usable = next(d["methods"] for d in offered if d["name"] == "sliding_tiles")
    if method not in usable:
        pytest.skip(f"the method {method} is not installed")
    body = {**sample(client, "sliding_tiles"), "method": method}
    with client.stream("POST", "/api/searches", json=body) as response:
        stream = events(response)
        while next(stream)[0] != "started":
            pass
        assert status(client)["open"] == 1
    deadline = time.monotonic() + PATIENCE
    while status(client)["open"]:
        assert time.monotonic() < deadline
    assert status(client) == {"open": 0, "waiting": 0}


def test_a_full_queue_is_refused_and_a_free_place_is_taken(serve: Serve) -> None:
    with httpx.Client(base_url=serve(Limits(open=1, queue=1)), timeout=60) as client:
        body = {**sample(client, "sliding_tiles"), "method": "low_level", "paused": True}
        with client.stream("POST", "/api/searches", json=body) as first:
            opened = events(first)
            number = next(opened)[1]["id"]
            with client.stream("POST", "/api/searches", json=body) as second:
                waiting = events(second)
                assert [next(waiting)[0], next(waiting)[0]] == ["opened", "queued"]
                refused = client.post("/api/searches", json=body)
                assert refused.status_code == 429
                assert refused.headers["retry-after"]
                assert refused.headers["content-type"] == "application/problem+json"
                client.post(f"/api/searches/{number}", json={"do": "stop"})
                assert next(waiting)[0] == "started"


def test_a_paused_search_without_a_user_ends(serve: Serve) -> None:
    with httpx.Client(base_url=serve(Limits(idle_seconds=0.2)), timeout=60) as client:
        found = search(client, {**sample(client, "sliding_tiles"), "paused": True})
    assert found[-1][1]["outcome"] == "INTERRUPTED"


BAD = [
    ("/api/sample", {"domain": "no_such"}, 422),
    ("/api/sample", {"domain": DOMAINS[0], "seed": -1}, 422),
    ("/api/sample", {"domain": DOMAINS[0], "path": "/etc/passwd"}, 422),
    ("/api/parse", {"domain": DOMAINS[0], "text": "?!"}, 422),
    ("/api/check", {"domain": DOMAINS[0], "height": 1, "width": 1, "cells": "*"}, 200),
    ("/api/pictures", {"domain": DOMAINS[0], "height": 999, "width": 1, "cells": ["AA=="]}, 422),
    ("/api/searches", {"domain": DOMAINS[0], "height": 10**9, "width": 9, "cells": "AA=="}, 422),
    ("/api/searches/none", {"do": "stop"}, 404),
    ("/api/results/runs", {}, 404),
]


@pytest.mark.parametrize(("path", "body", "code"), BAD)
def test_errors_are_json_problems(
    client: httpx.Client, path: str, body: dict[str, Any], code: int
) -> None:
    response = client.post(path, json=body)
    assert response.status_code == code
    if code != 200:
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["detail"]


def test_unknown_settings_and_methods_are_problems(client: httpx.Client) -> None:
    problem = sample(client, DOMAINS[0])
    assert client.post("/api/searches", json={**problem, "settings": {"x": 1}}).status_code == 422
    assert search(client, {**problem, "method": "no_such"})[-1][0] == "problem"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "example.com"}, 403),
        ({"Origin": "http://example.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_foreign_requests_are_refused(
    client: httpx.Client, headers: dict[str, str], code: int
) -> None:
    body = json.dumps({"domain": DOMAINS[0]})
    given = {"Content-Type": "application/json", **headers}
    response = client.post("/api/sample", content=body, headers=given)
    assert response.status_code == code
    assert response.json()["detail"]


def test_large_requests_are_refused(client: httpx.Client) -> None:
    body = json.dumps({"domain": DOMAINS[0], "text": "#" * 300_000})
    json_type = {"Content-Type": "application/json"}
    assert client.post("/api/parse", content=body, headers=json_type).status_code == 413
    chunks = iter([body.encode()])
    assert client.post("/api/parse", content=chunks, headers=json_type).status_code == 413


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/etc/passwd"])
def test_no_file_is_read_because_a_request_names_it(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_page_is_small_and_needs_nothing_else(client: httpx.Client) -> None:
    page = client.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    total, waiting, seen = 0, ["/"], {"/"}
    while waiting:
        content = client.get(waiting.pop()).raise_for_status().text
        total += len(content.encode())
        assert "http://" not in content.replace("http://www.w3.org", "")
        assert "https://" not in content
        names = {part.split('"')[0] for part in content.split('"/static/')[1:]}
        names |= {"js/" + part.split('"')[0] for part in content.split('from "./')[1:]}
        for name in names - seen:
            seen.add(name)
            waiting.append(f"/static/{name}")
    assert len(seen) > 10
    assert total + len(client.get("/api/catalogue").content) <= 300_000


def test_beyond_this_machine_a_token_is_needed() -> None:
    assert Address("127.0.0.1").is_local
    assert Address("localhost").is_local
    assert not Address("0.0.0.0").is_local
    assert not Address("192.0.2.1").is_local


def test_the_token_opens_the_page() -> None:
    site = prepare(Address("0.0.0.0", 0))
    threading.Thread(target=site.run, daemon=True).start()
    base, token = site.url.replace("0.0.0.0", "127.0.0.1").split("?token=")
    with httpx.Client(base_url=base, timeout=20) as client:
        assert client.get("/").status_code == 401
        assert client.get("/api/catalogue").json()["title"] == "A token is needed"
        assert client.get(f"/?token={token}x").status_code == 401
        entered = client.get(f"/?token={token}", follow_redirects=True)
        assert entered.status_code == 200
        assert "token" not in str(entered.url)
        assert client.cookies[COOKIE] == token
        assert client.get("/api/catalogue").is_success
    bearer = {"Authorization": f"Bearer {token}"}
    assert httpx.get(f"{base}api/catalogue", headers=bearer, timeout=20).is_success
    site.stop()


def test_access_compares_whole_tokens() -> None:
    access = Access(None, "secret")
    assert access.fits("secret")
    assert not any(access.fits(text) for text in ("", "secre", "secrets", "sécret"))
    assert not Access().fits("")


@pytest.mark.parametrize("started", [False, True])
def test_ctrl_c_ends_requests_without_a_traceback(started: bool) -> None:
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if started:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(60)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    async def stop() -> None:
        headers = [(b"host", b"127.0.0.1")]
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "query_string": b"",
            "headers": headers,
        }
        task = asyncio.ensure_future(Guard(application, Access())(scope, receive, send))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    asyncio.run(stop())
    assert sent[0]["status"] == (200 if started else 503)


def test_the_guide_names_the_limits() -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "web.md").read_text()
    limits = Limits()
    assert f"{limits.side} rows" in text
    assert f"{limits.expansions:,} expansions, {limits.seconds:g} s" in text
    assert f"{limits.bytes >> 20} MiB" in text
    assert f"first {limits.nodes:,} nodes" in text
    assert f"{limits.open} at the same time (`--searches`), {limits.queue} in the queue" in text
