"""Failures, in one shape: ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from clew.exceptions import ClewError, StoreError

_log = logging.getLogger("clew.web")


class Problem(HTTPException):
    """A failure with a sentence for its reader; `retry_after` is in seconds, 0 not said."""

    def __init__(self, status: int, detail: str, retry_after: int = 0) -> None:
        headers = {"Retry-After": str(retry_after)} if retry_after else None
        super().__init__(status, detail, headers)


def problem_body(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """Return the body of a failure."""
    return {"status": status, "title": HTTPStatus(status).phrase, "detail": detail, **more}


def problem_response(
    status: int, detail: str, headers: dict[str, str] | None = None, **more: Any
) -> JSONResponse:
    """Return the reply of a failure."""
    body = problem_body(status, detail, **more)
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page."""
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


def not_found() -> Problem:
    """Return the failure for what is not there, and for what is not theirs to see."""
    return Problem(404, "There is nothing here, or it is not yours to see.")


def add_problems(app: FastAPI, page: Callable[[Request, int, str], Response]) -> None:
    """Make every failure of an app a problem, or a page where a browser wanted a page."""

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers) if error.headers else None
        is_path = error.detail == HTTPStatus.NOT_FOUND.phrase  # a path that no page has
        detail = str(not_found().detail if is_path else error.detail)
        if wants_page(request):
            return await run_in_threadpool(page, request, error.status_code, detail)
        return problem_response(error.status_code, detail, headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        found = [
            {"where": ".".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()
        ]
        first = f"{found[0]['where']}: {found[0]['what']}" if found else "The request is invalid."
        if wants_page(request):
            return await run_in_threadpool(page, request, 422, first)
        return problem_response(422, first, errors=found[:20])

    @app.exception_handler(StoreError)
    async def _store(_: Request, error: StoreError) -> JSONResponse:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, OSError):
            cause = cause.__cause__
        words = str(error).casefold()
        is_full = isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EROFS)
        if is_full or any(word in words for word in ("disk", "full", "read-only", "readonly")):
            return problem_response(507, str(error))
        return problem_response(503, str(error), {"Retry-After": "2"})

    @app.exception_handler(ClewError)
    async def _clew(request: Request, error: ClewError) -> Response:
        if wants_page(request):
            return await run_in_threadpool(page, request, 422, str(error))
        return problem_response(422, str(error))

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception) -> JSONResponse:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem_response(500, "Something went wrong here; it is in the server's log.")
