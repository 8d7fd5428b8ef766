"""A search as a stream of server-sent events, with controls; a closed connection ends it."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal

from pydantic import Field
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hips.errors import HipsError
from hips.web.errors import Refusal
from hips.web.events import result_event, server_sent
from hips.web.floor import Floor, Place
from hips.web.limits import Limits
from hips.web.problems import Request
from hips.web.runs import Run, SearchRequest, open_run

Emit = Callable[[bytes], Awaitable[None]]
LOG = logging.getLogger(__name__)
QUEUE_SECONDS = 0.5
"""Interval between two looks at the position in the queue."""


class Command(Request):
    """A command to a running search: `step` runs some rounds and pauses again."""

    do: Literal["pause", "resume", "step", "stop", "pace"]
    rounds: int = Field(1, ge=1, le=1_000)
    pace: float | None = Field(None, gt=0, allow_inf_nan=False)


class Controls:
    """The state of a search that its user controls.

    Attributes:
        allowed: rounds until the next pause.
        pace: rounds per second; None for as fast as possible.
        stopping: whether it ends now.
        changed: set at every command.
    """

    def __init__(self, paused: bool, pace: float | None) -> None:
        self.allowed: float = 0 if paused else math.inf
        self.pace = pace
        self.stopping = False
        self.changed = asyncio.Event()

    def obey(self, command: Command) -> None:
        """Carries out a command."""
        if command.do == "pause":
            self.allowed = 0
        elif command.do == "resume":
            self.allowed = math.inf
        elif command.do == "step":
            self.allowed = (0 if math.isinf(self.allowed) else self.allowed) + command.rounds
        elif command.do == "pace":
            self.pace = command.pace
        else:
            self.stopping = True
        self.changed.set()


class Searches:
    """All searches of the server, by number."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self.controls: dict[str, Controls] = {}

    async def start(self, request: SearchRequest) -> EventStream:
        """The stream of a new search.

        Raises:
            Refusal: the queue is full.
            HipsError: the problem or the settings are invalid.
        """
        run = await self.floor.task(open_run, request, self.floor.limits)
        place = self.floor.place()
        controls = Controls(request.paused, request.pace)
        return EventStream(Session(self, run, place, controls).run, self.floor.limits)

    def obey(self, number: str, command: Command) -> None:
        """Passes a command to a search."""
        if number not in self.controls:
            raise Refusal(404, "This search has ended.")
        self.controls[number].obey(command)


class Session:
    """Drives one search for one reader."""

    def __init__(self, searches: Searches, search: Run, place: Place, controls: Controls) -> None:
        self._searches, self._floor = searches, searches.floor
        self._limits = searches.floor.limits
        self._search, self._place, self._controls = search, place, controls

    async def run(self, emit: Emit) -> None:
        """Emits the events of the search until its end; cancelled when the reader leaves."""
        number = secrets.token_urlsafe(9)
        self._searches.controls[number] = self._controls
        try:
            await emit(server_sent("opened", {"id": number}))
            await self._wait_for_place(emit)
            if not self._controls.stopping:
                await self._work(emit)
        except HipsError as error:
            await emit(_failure(str(error)))
        except (asyncio.CancelledError, OSError):
            raise
        except Exception as error:
            LOG.exception("a search failed")
            await emit(_failure(f"{type(error).__name__}: {error}"))
        finally:
            del self._searches.controls[number]
            self._search.close()
            self._place.leave()

    async def _wait_for_place(self, emit: Emit) -> None:
        shown = -1
        while not self._place.entered.is_set() and not self._controls.stopping:
            if self._place.position != shown:
                shown = self._place.position
                await emit(server_sent("queued", {"position": shown}))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._place.entered.wait(), QUEUE_SECONDS)

    async def _work(self, emit: Emit) -> None:
        started = await self._floor.compute(self._search.prepare)
        await emit(server_sent("started", started))
        if self._search.has_rounds:
            await self._run_rounds(emit)
        else:
            await self._run_call()
        await emit(await self._floor.compute(self._ending))

    def _ending(self) -> bytes:
        assert self._search.result is not None
        return server_sent("result", result_event(self._search.result, self._limits.frames))

    def _advance(self, most: int, seconds: float) -> tuple[int, bytes]:
        """Runs some rounds; their number and their event, written here to spare the event loop."""
        rounds = self._search.advance(most, seconds)
        content = {"seconds": self._search.seconds(), "rounds": rounds}
        return len(rounds), server_sent("rounds", content) if rounds else b""

    async def _run_rounds(self, emit: Emit) -> None:
        controls, search = self._controls, self._search
        interval = 1 / self._limits.events_per_second
        while search.result is None:
            if controls.stopping or (controls.allowed <= 0 and not await self._pause(emit)):
                search.end()
                return
            if controls.allowed <= 0 or controls.stopping:
                continue
            began, pace = time.monotonic(), controls.pace
            most = 1_000.0 if pace is None else max(1.0, pace * interval)
            rounds, event = await self._floor.compute(
                self._advance, int(min(most, controls.allowed)), interval
            )
            controls.allowed -= rounds
            if rounds:
                await emit(event)
            if pace is not None and search.result is None:
                await self._rest(rounds / pace - (time.monotonic() - began))

    async def _rest(self, seconds: float) -> None:
        """Waits, but not beyond the next command."""
        self._controls.changed.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._controls.changed.wait(), max(0.0, seconds))

    async def _pause(self, emit: Emit) -> bool:
        """Waits for a command; False if none comes."""
        controls = self._controls
        controls.changed.clear()
        await emit(server_sent("paused", {}))
        try:
            await asyncio.wait_for(controls.changed.wait(), self._limits.idle_seconds)
        except TimeoutError:
            return False
        return True

    async def _run_call(self) -> None:
        finished = asyncio.Event()
        loop = asyncio.get_running_loop()

        def notify() -> None:
            loop.call_soon_threadsafe(finished.set)

        self._search.call(notify)
        while not finished.is_set():
            self._controls.changed.clear()
            if self._controls.stopping:
                self._search.end()
                await finished.wait()
                break
            waits = [
                asyncio.ensure_future(finished.wait()),
                asyncio.ensure_future(self._controls.changed.wait()),
            ]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
        self._search.collect()


def _failure(detail: str) -> bytes:
    return server_sent("problem", {"title": "The search failed", "detail": detail})


class EventStream(Response):
    """Server-sent events. The reader's pace is the sender's pace: nothing piles up in between."""

    media_type = "text/event-stream"

    def __init__(self, drive: Callable[[Emit], Awaitable[None]], limits: Limits) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._drive, self._limits = drive, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends events until the end, or until the reader has gone or has stopped reading."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def emit(body: bytes) -> None:
            message = {"type": "http.response.body", "body": body, "more_body": True}
            await asyncio.wait_for(send(message), self._limits.idle_seconds)

        async def listen() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        driver = asyncio.ensure_future(self._drive(emit))
        listener = asyncio.ensure_future(listen())
        try:
            await asyncio.wait({driver, listener}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = driver.done() and not driver.cancelled()
            for task in (driver, listener):
                task.cancel()
            await asyncio.gather(driver, listener, return_exceptions=True)
        if ended and driver.exception() is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
