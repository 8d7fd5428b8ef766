"""The application: routes from requests to the package, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from fastapi import FastAPI, Response
from pydantic import Field
from starlette.types import ASGIApp

from hips.errors import LevelError
from hips.files import text_lines
from hips.seeding import stream
from hips.web import catalogue, errors
from hips.web.drawing import GifRequest, PicturesRequest, draw_symbols
from hips.web.errors import Refusal
from hips.web.floor import Floor
from hips.web.guard import Access, Guard
from hips.web.limits import Limits
from hips.web.problems import DomainChoice, Problem, Start, check_side
from hips.web.results import ResultsFolder, RunsRequest
from hips.web.runs import SearchRequest
from hips.web.stream import Command, EventStream, Searches

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
INDEX = "index.html"


class SampleRequest(DomainChoice):
    """A level to sample."""

    seed: int = Field(0, ge=0, lt=1 << 63)


class ParseRequest(DomainChoice):
    """A text in the domain's format, with one level or more."""

    text: str = Field(max_length=200_000)


class StepRequest(Problem):
    """A move by hand."""

    action: str = Field(max_length=100)


def create_app(
    limits: Limits | None = None, access: Access | None = None, results: ResultsFolder | None = None
) -> ASGIApp:
    """The whole server behind its guard.

    Args:
        limits: limits of requests and searches.
        access: who may speak to it.
        results: a folder of benchmark results to show.
    """
    limits = limits or Limits()
    floor = Floor(limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        floor.close()

    app = FastAPI(title="HIPS-ε", docs_url=None, redoc_url=None, openapi_url=None)
    app.router.lifespan_context = lifespan
    errors.install(app)
    _add_problems(app, floor)
    _add_searches(app, floor)
    _add_results(app, floor, results)
    _add_files(app)
    return Guard(app, access or Access(body_bytes=limits.body_bytes))


def _add_problems(app: FastAPI, floor: Floor) -> None:
    limits = floor.limits

    @app.post("/api/sample")
    async def sample(request: SampleRequest) -> dict[str, Any]:
        return await floor.task(_sample, request, limits)

    @app.post("/api/parse")
    async def parse(request: ParseRequest) -> dict[str, Any]:
        return await floor.task(_parse, request, limits)

    @app.post("/api/check")
    async def check(request: Problem) -> dict[str, Any]:
        return await floor.task(request.check, limits)

    @app.post("/api/step")
    async def step(request: StepRequest) -> dict[str, Any]:
        return await floor.task(_step, request, limits)

    @app.post("/api/pictures")
    async def pictures(request: PicturesRequest) -> Response:
        return Response(await floor.task(request.draw, limits), media_type="image/png")

    @app.post("/api/symbols")
    async def symbols(request: DomainChoice) -> Response:
        return Response(await floor.task(draw_symbols, request), media_type="image/png")

    @app.post("/api/gif")
    async def gif(request: GifRequest) -> Response:
        return Response(await floor.task(request.animate, limits), media_type="image/gif")


def _add_searches(app: FastAPI, floor: Floor) -> None:
    searches = Searches(floor)
    offered: dict[str, Any] = {}

    @app.get("/api/catalogue")
    async def offer() -> dict[str, Any]:
        if not offered:
            offered.update(await floor.task(catalogue.describe, floor.limits))
        return offered

    @app.get("/api/status")
    async def status() -> dict[str, int]:
        return {"open": floor.open, "waiting": len(floor.waiting)}

    @app.post("/api/searches")
    async def search(request: SearchRequest) -> EventStream:
        return await searches.start(request)

    @app.post("/api/searches/{number}")
    async def command(number: str, request: Command) -> dict[str, bool]:
        searches.obey(number, request)
        return {"done": True}


def _add_results(app: FastAPI, floor: Floor, results: ResultsFolder | None) -> None:
    def folder() -> ResultsFolder:
        if results is None:
            raise Refusal(404, "No results folder is open; start `hips web --results FOLDER`.")
        return results

    @app.get("/api/results")
    async def report() -> dict[str, Any]:
        return await floor.task(folder().report)

    @app.post("/api/results/runs")
    async def runs(request: RunsRequest) -> dict[str, Any]:
        return await floor.task(folder().runs, request)

    @app.get("/api/results/runs/{number}")
    async def run(number: int) -> dict[str, Any]:
        return await floor.task(folder().run, number)


def _add_files(app: FastAPI) -> None:
    """The page from memory: a request chooses among known files and never names a path."""
    root = files(__package__).joinpath("static")
    known: dict[str, bytes] = {}
    for folder in ("", "js"):
        for entry in root.joinpath(folder).iterdir():
            if entry.is_file():
                known[str(PurePosixPath(folder, entry.name))] = entry.read_bytes()

    @app.get("/")
    async def index() -> Response:
        return _file(INDEX)

    @app.get("/static/{name:path}")
    async def static(name: str) -> Response:
        return _file(name)

    def _file(name: str) -> Response:
        if name not in known:
            raise Refusal(404, "There is no such page.")
        kind = KINDS.get(PurePosixPath(name).suffix, "text/plain; charset=utf-8")
        return Response(known[name], media_type=kind, headers={"Cache-Control": "no-cache"})


def _sample(request: SampleRequest, limits: Limits) -> dict[str, Any]:
    domain = request.make()
    check_side(*domain.spec.shape, limits)
    grid = domain.sample(stream(request.seed, "web"), 1)[0]
    return Start(domain, grid).describe()


def _parse(request: ParseRequest, limits: Limits) -> dict[str, Any]:
    """The levels of a text, and why others cannot be read; an error if none can."""
    domain = request.make()
    levels: list[dict[str, Any]] = []
    unreadable: list[LevelError] = []
    for level in domain.read(text_lines(request.text)):
        if len(levels) + len(unreadable) == limits.levels:
            raise LevelError(f"too many levels; at most {limits.levels} are read")
        try:
            if isinstance(level, LevelError):
                raise level
            check_side(level.grid.shape[0], level.grid.shape[1], limits)
            start = Start(domain.for_grid(level.grid), level.grid)
            levels.append({**start.describe(), "title": level.title, "note": level.note})
        except LevelError as error:
            unreadable.append(error)
    if not levels:
        raise unreadable[0] if unreadable else LevelError("the text has no level", 1, 1)
    return {"levels": levels, "unreadable": [str(error) for error in unreadable]}


def _step(request: StepRequest, limits: Limits) -> dict[str, Any]:
    start = request.open(limits)
    actions = start.domain.spec.action_indices([request.action])
    after = start.domain.step(start.grid[None], actions)[0]
    moved = not np.array_equal(after, start.grid)
    return {**Start(start.domain, after).describe(), "moved": moved}
