"""Run a function for a request, in a thread, and turn its result or its error into an answer.

200 JSON                        the result
400 {"error": sentence}         the request cannot be understood
401                             not signed in
403                             the token is missing, the console is read-only, the user may not
404, 409, 429, 502              not found; the server refuses; too many guesses; no server
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from forebay.cli.remote.refusals import NO_STREAM, RefusedError
from forebay.cli.remote.server import NotReachedError
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
STATUS_OF_CODE = {"NOPERM": 403, "NOAUTH": 401, "NOGROUP": 404, NO_STREAM: 404}
GUESSES = "too many wrong passwords; wait a second"


def failed(status: int, sentence: str) -> Response:
    """An answer that is a refusal."""
    return JSONResponse({"error": sentence}, status)


async def not_answered(_: Request, error: Exception) -> Response:
    """The answer for an unknown address or a method that it does not allow."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: "there is nothing at this address", 405: "this method is not allowed here"}
    return failed(status, known.get(status, "the request cannot be understood"))


def answered(function: Callable[[], Any]) -> Response:
    """The result of a function; known errors become answers, others appear only in the log."""
    try:
        return JSONResponse(function())
    except tuple(STATUS) as error:
        return failed(status_of(error), str(error) or GUESSES)
    except Exception:
        log.exception("a question could not be answered")
        return failed(500, "internal error in the console; its log has the details")


def status_of(error: Exception) -> int:
    """The HTTP status of an error."""
    if isinstance(error, RefusedError) and error.code in STATUS_OF_CODE:
        return STATUS_OF_CODE[error.code]
    return next(code for kind, code in STATUS.items() if isinstance(error, kind))


def no_number(word: str) -> None:
    """Refuse NaN and the infinities: only Python takes them for JSON."""
    raise ValueError(word)


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of the body; BadRequestError if it is not one."""
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
        json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair cannot be stored
    except (ValueError, RecursionError):
        raise BadRequestError("the body is not JSON") from None
    if not isinstance(found, dict):
        raise BadRequestError("the body is not a JSON object")
    return found
