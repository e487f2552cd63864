"""The app: files of the page, sign-in, endpoints, events.

/                    the page                    /metrics         for Prometheus
/api/session         who am I; sign in, sign out /api/openapi     what there is
/api/...             web/endpoints.py            /api/live/...    the same, as events
"""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from forebay.cli.remote.address import Address
from forebay.cli.remote.refusals import RefusedError
from forebay.cli.remote.server import NotReachedError
from forebay_console.asking.asked import Asked, BadRequestError
from forebay_console.metrics.exposition import exposition
from forebay_console.servers.links import Links, NotLetInError
from forebay_console.servers.shown import name_of
from forebay_console.watch.board import Board
from forebay_console.watch.poller import Poller
from forebay_console.web.answers import (
    GUESSES,
    STATUS,
    answered,
    body_of,
    failed,
    not_answered,
    status_of,
)
from forebay_console.web.endpoints import ENDPOINTS, Endpoint
from forebay_console.web.events import Bell, OverError, followed, streamed, taken
from forebay_console.web.headers import LOCAL_NAMES, Guard
from forebay_console.web.openapi import description
from forebay_console.web.sessions import Session, Sessions, TooManyGuessesError
from forebay_console.web.tails import Tails

PAGE = Path(__file__).parent.parent / "page"
COOKIE = "forebay_console"
TOKEN = "x-console-token"
AT_ONCE_S = 1.0
METRICS = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Settings:
    """The options of the command line."""

    address: Address
    may_write: bool = False
    #: Host names under which the console answers, besides those of this machine.
    hosts: tuple[str, ...] = ()
    #: Whether /metrics has series for each consumer.
    consumer_metrics: bool = False


class Console:
    """All state of a running console."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.board = Board()
        self.bell = Bell()
        self.links = Links(settings.address)
        self.poller = Poller(self.links, self.board, self.bell.ring)
        self.sessions = Sessions(settings.address)
        self.tails = Tails()

    def app(self) -> ASGIApp:
        """The ASGI app."""
        routes = [
            Route("/", self.index),
            Route("/metrics", self.metrics),
            Mount("/page", StaticFiles(directory=PAGE)),
            Route("/api/session", self.session, methods=["GET", "POST", "DELETE"]),
            Route("/api/openapi", self.openapi),
            Route("/api/tail/{stream}", self.tail),
            *(route for one in ENDPOINTS for route in self._routes(one)),
        ]
        handlers = {HTTPException: not_answered}
        app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)
        return Guard(app, (*LOCAL_NAMES, *self.settings.hosts))

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.bell.open()
        self.poller.start()
        yield
        await run_in_threadpool(self.poller.stop)
        self.sessions.close()
        self.links.close()

    def _routes(self, endpoint: Endpoint) -> list[Route]:
        async def answer(request: Request) -> Response:
            return await self._answer(endpoint, request)

        async def follow(request: Request) -> Response:
            return await self._follow(endpoint, request)

        found = [Route(f"/api{endpoint.path}", answer, methods=[endpoint.method])]
        if endpoint.is_live:
            found.append(Route(f"/api/live{endpoint.path}", follow))
        return found

    async def index(self, _: Request) -> Response:
        """The page."""
        return FileResponse(PAGE / "index.html")

    async def openapi(self, _: Request) -> Response:
        """The description of the API."""
        return JSONResponse(description(ENDPOINTS))

    async def metrics(self, request: Request) -> Response:
        """For Prometheus: what the signed-in user, or the user in its basic_auth, may see."""
        session = await self._session(request)
        user = user_of(request.headers.get("authorization", ""))

        def scrape() -> Response:
            visitor = session or self.sessions.visit(*user)
            try:
                text = exposition(self.board, visitor, self.settings.consumer_metrics)
            finally:
                if session is None:
                    visitor.links.close()
            return PlainTextResponse(text, media_type=METRICS)

        try:
            return await run_in_threadpool(scrape)
        except tuple(STATUS) as error:
            answer = failed(status_of(error), str(error) or GUESSES)
            answer.headers["www-authenticate"] = 'Basic realm="a user of the server"'
            return answer

    async def session(self, request: Request) -> Response:
        """GET: who am I.  POST: sign in.  DELETE: sign out."""
        name = request.cookies.get(COOKIE)
        if request.method == "DELETE":
            await run_in_threadpool(self.sessions.sign_out, name)
            answer: Response = JSONResponse({"user": None})
            answer.delete_cookie(COOKIE)
            return answer
        if request.method == "POST":
            return await self._sign_in(request)
        session = self.sessions.find(name)
        if session is None:
            return await self._let_in()
        return JSONResponse(self._told(session))

    async def _sign_in(self, request: Request) -> Response:
        try:
            body = await body_of(request)
        except BadRequestError as error:
            return failed(400, str(error))
        user, password = str(body.get("user") or ""), str(body.get("password") or "")
        try:
            name = await run_in_threadpool(self.sessions.sign_in, user, password)
        except TooManyGuessesError:
            return failed(429, "too many wrong passwords; wait a second")
        except RefusedError as error:
            return failed(401, str(error))
        except NotReachedError as error:
            return failed(status_of(error), str(error))
        return self._with_cookie(name)

    async def _let_in(self) -> Response:
        """Sign in without a password if the server needs none."""
        if not await self._is_open():
            return JSONResponse({"user": None, **self._about()})
        name = await run_in_threadpool(self.sessions.sign_in, "", "")
        return self._with_cookie(name)

    async def _is_open(self) -> bool:
        def look() -> bool:
            try:
                self.sessions.visit("", "").links.close()
            except (RefusedError, NotReachedError, TooManyGuessesError):
                return False
            return True

        return await run_in_threadpool(look)

    def _with_cookie(self, name: str) -> Response:
        session = self.sessions.find(name)
        answer = JSONResponse(self._told(session) if session else {})
        answer.set_cookie(COOKIE, name, httponly=True, samesite="strict", path="/")
        return answer

    def _told(self, session: Session) -> dict[str, Any]:
        return {"user": session.user, "token": session.token, **self._about()}

    def _about(self) -> dict[str, Any]:
        return {
            "server": str(self.settings.address),
            "may_write": self.settings.may_write,
            "trouble": self.board.server.trouble,
        }

    async def _session(self, request: Request) -> Session | None:
        return self.sessions.find(request.cookies.get(COOKIE))

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        session = await self._session(request)
        if session is None:
            return failed(401, "sign in first")
        if endpoint.method != "GET" and request.headers.get(TOKEN) != session.token:
            return failed(403, "the token of the session is missing")
        if endpoint.changes and not self.settings.may_write:
            return failed(403, "this console is read-only; start it with --write to make changes")
        try:
            body = await body_of(request)
        except BadRequestError as error:
            return failed(400, str(error))
        ask = self._asker(endpoint, session, request, body)
        return await run_in_threadpool(answered, ask)

    async def _follow(self, endpoint: Endpoint, request: Request) -> Response:
        session = await self._session(request)
        if session is None:
            return failed(401, "sign in first")
        ask = self._asker(endpoint, session, request, {})

        def look() -> Any:
            try:
                return ask()
            except NotLetInError:
                self.sessions.sign_out(request.cookies.get(COOKIE))
                raise OverError from None
            except NotReachedError as error:
                return {"error": str(error), "trouble": str(error)}
            except tuple(STATUS) as error:
                return {"error": str(error)}

        return streamed(followed(self.bell, look))

    def _asker(
        self, endpoint: Endpoint, session: Session, request: Request, body: Mapping[str, Any]
    ) -> Callable[[], Any]:
        """A function that asks the question."""
        path = {name: str(value) for name, value in request.path_params.items()}
        query = dict(request.query_params)

        def ask() -> Any:
            with session.links.lent() as server:
                asked = Asked(
                    *(server, self.board, self.poller, session.permits), path, query, body
                )
                return endpoint.function(asked)

        return ask if endpoint.changes else lambda: once_more(ask)

    async def tail(self, request: Request) -> Response:
        """Entries of a stream as they arrive."""
        session = await self._session(request)
        if session is None:
            return failed(401, "sign in first")
        stream = name_of(request.path_params["stream"])
        tail, viewer = self.tails.join(session.user, session.links, stream)
        return streamed(taken(viewer.take, lambda: self.tails.leave(tail, viewer)))


def user_of(header: str) -> tuple[str, str]:
    """The user and password of basic authentication; empty for any other header."""
    kind, _, word = header.partition(" ")
    try:
        text = base64.b64decode(word, validate=True).decode() if kind.lower() == "basic" else ""
    except ValueError:
        text = ""
    user, _, password = text.partition(":")
    return user, password


def once_more(ask: Callable[[], Any]) -> Any:
    """Ask a question that changes nothing; again on a new connection if the first was dead."""
    begun_s = time.monotonic()
    try:
        return ask()
    except NotLetInError:
        raise
    except NotReachedError:
        if time.monotonic() - begun_s > AT_ONCE_S:
            raise  # a server that does not answer will not answer a second time
        return ask()
