"""Run a function for a request, in a thread, and put what it returns or raises into an answer.

200 JSON                        what it returned
400 {"error": sentence}         what was asked cannot be understood
401                             nobody is signed in
403                             the token is missing, the console only reads, the user may not
404, 409, 429, 502              it is not there; the server refuses; too many guesses; no server
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from forebay.cli.remote.server import NotReachedError, RefusedError
from forebay.cli.usage import LineError
from forebay_console.asking.asked import BadRequestError, NotThereError
from forebay_console.servers.links import NotLetInError
from forebay_console.web.sessions import TooManyGuessesError

log = logging.getLogger(__name__)

MOST_BODY_BYTES = 16 << 20
STATUS: dict[type[Exception], int] = {
    BadRequestError: 400,
    LineError: 400,
    NotThereError: 404,
    RefusedError: 409,
    NotLetInError: 401,
    NotReachedError: 502,
    TooManyGuessesError: 429,
}
GUESSES = "too many wrong passwords; wait a second"


def failed(status: int, sentence: str) -> Response:
    """An answer that is a refusal."""
    return JSONResponse({"error": sentence}, status)


async def not_answered(_: Request, error: Exception) -> Response:
    """An address that nobody answers, or not in this way."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: "there is nothing at this address", 405: "this cannot be asked in this way"}
    return failed(status, known.get(status, "the request cannot be understood"))


def answered(function: Callable[[], Any]) -> Response:
    """What a function says; its known errors are answers, others are told in the log alone."""
    try:
        return JSONResponse(function())
    except tuple(STATUS) as error:
        return failed(status_of(error), str(error) or GUESSES)
    except Exception:
        log.exception("a question could not be answered")
        return failed(500, "the console has a fault of its own; its log says which")


def status_of(error: Exception) -> int:
    """The number of an error."""
    if isinstance(error, RefusedError):
        text = str(error)
        if "does not permit" in text:
            return 403
        if "wants a password" in text:
            return 401
        if text.startswith("there is no") or "has no group" in text:
            return 404
    return next(code for kind, code in STATUS.items() if isinstance(error, kind))


def no_number(word: str) -> None:
    """NaN and its kin are Python's JSON, and nobody else's."""
    raise ValueError(word)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that was sent; BadRequestError if it is none."""
    if request.method == "GET":
        return {}
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise BadRequestError("send JSON (content-type: application/json)")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BODY_BYTES:
            raise BadRequestError(f"a request has at most {MOST_BODY_BYTES:,} bytes")
        parts.append(part)
    try:
        found = json.loads(b"".join(parts) or b"{}", parse_constant=no_number)
        json.dumps(found, ensure_ascii=False).encode()  # half a character cannot be kept
    except (ValueError, RecursionError):
        raise BadRequestError("what was sent is no JSON") from None
    if not isinstance(found, dict):
        raise BadRequestError("what was sent is no JSON object")
    return found
