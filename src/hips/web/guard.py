"""Who may speak to the server: hosts, origins, the token, and the size of requests."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import SimpleCookie
from urllib.parse import parse_qs, urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hips.web.errors import Refusal, problem

COOKIE = "hips_token"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may speak to the server.

    Attributes:
        hosts: allowed names in `Host`, without port; None for any, which needs a token.
        token: the secret that requests carry, or None.
        body_bytes: maximum bytes of a request.
    """

    hosts: tuple[str, ...] | None = LOOPBACK
    token: str | None = None
    body_bytes: int = 256 << 10

    def check(self, scope: Scope) -> None:
        """Refuses foreign hosts and origins, and requests that are not JSON or too large."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self.hosts is not None and (urlsplit(f"//{host}").hostname or "") not in self.hosts:
            raise Refusal(403, f"This server does not answer for the host '{host}'.")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise Refusal(403, f"Requests from the origin '{origin}' are not allowed.")
        if headers.get("sec-fetch-site") in {"cross-site", "same-site"} and scope["path"] != "/":
            raise Refusal(403, "Requests from other sites are not allowed.")
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").split(";")[0].strip().lower()
            if kind != "application/json":
                raise Refusal(415, "Send the request as application/json.")
            length = headers.get("content-length", "")
            if length.isdigit() and int(length) > self.body_bytes:
                raise Refusal(413, f"A request has at most {self.body_bytes:,} bytes.")

    def knows(self, scope: Scope) -> bool:
        """Whether the request carries the token, if one is needed."""
        if self.token is None:
            return True
        headers = Headers(scope=scope)
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        given = (bearer, "" if cookie is None else cookie.value)
        return any(self.fits(one) for one in given)

    def fits(self, given: str) -> bool:
        """Whether a text is the token."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


class Guard:
    """ASGI middleware that lets only permitted requests through."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks a request, limits its body, and adds headers to the response."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            self.access.check(scope)
        except (Refusal, ValueError) as error:
            status = error.status if isinstance(error, Refusal) else 400
            await problem(status, str(error))(scope, receive, send_safely)
            return
        if not self.access.knows(scope):
            await self._ask_for_token(scope, receive, send_safely)
            return
        try:
            await self.app(scope, self._limited(receive), send_safely)
        except asyncio.CancelledError:  # Ctrl-C while something runs: nobody wants a traceback
            if not started:
                await problem(503, "The server has been stopped.")(scope, receive, send_safely)

    async def _ask_for_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and self.access.fits(given):
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            await response(scope, receive, send)
            return
        detail = "Open the address that `hips web` printed; it holds the token."
        await problem(401, detail)(scope, receive, send)

    def _limited(self, receive: Receive) -> Receive:
        taken = 0

        async def take() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.access.body_bytes:
                # FastAPI passes on only its own kind of error while it reads a body.
                raise HTTPException(413, f"A request has at most {self.access.body_bytes:,} bytes.")
            return message

        return take
