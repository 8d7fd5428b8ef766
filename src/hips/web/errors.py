"""Errors as JSON problems (RFC 9457)."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from hips.errors import HipsError, LevelError

MEDIA_TYPE = "application/problem+json"
BUSY, RETRY_SECONDS = 429, 5
TITLES = {
    400: "Bad request",
    401: "A token is needed",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    413: "Too large",
    415: "JSON is needed",
    422: "Invalid request",
    429: "Too many requests",
    500: "Internal error",
}


class Refusal(Exception):
    """A request that the server refuses.

    Attributes:
        status: HTTP status.
        detail: what was wrong, what is allowed and what to do.
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def problem(status: int, detail: str, **more: Any) -> JSONResponse:
    """The response of an error."""
    headers = {"Retry-After": str(RETRY_SECONDS)} if status == BUSY else None
    content = {"title": TITLES.get(status, "Error"), "status": status, "detail": detail, **more}
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Makes every error of the application a JSON problem."""

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Refusal)
        return problem(error.status, error.detail)

    async def mistaken(request: Request, error: Exception) -> JSONResponse:
        place = (
            {"line": error.line, "column": error.column} if isinstance(error, LevelError) else {}
        )
        return problem(422, str(error), **place)

    async def malformed(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(name) for name in first["loc"] if name != "body")
        return problem(422, f"{place}: {first['msg']}" if place else str(first["msg"]))

    async def standard(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, str(error.detail))

    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        return problem(500, f"{type(error).__name__}; the server's log has the details.")

    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(HipsError, mistaken)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, standard)
    app.add_exception_handler(Exception, unexpected)
