"""A console as its own process, and an HTTP client without a browser that asks it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from email.message import Message
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import quote_from_bytes

from testkit.servers import environment

ADDRESS = re.compile(r" is at http://([^:]+):(\d+)/")


class Answer(NamedTuple):
    """An answer, read to its end."""

    status: int
    headers: Message
    data: bytes


class Asker:
    """Asks a console as a page does: with its cookie and its token."""

    def __init__(self, port: int, pid: int = 0) -> None:
        self.port = port
        #: The process of the console.
        self.pid = pid
        self.cookie = ""
        self.token = ""

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One request and its answer."""
        sent = {"cookie": self.cookie, "x-console-token": self.token}
        if body is not None:
            sent["content-type"] = "application/json"
        data = None if body is None else json.dumps(body)
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, data, {**sent, **(headers or {})})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the JSON of an answer."""
        answer = self.request(method, f"/api{path}", body)
        return answer.status, json.loads(answer.data or b"null")

    def get(self, path: str) -> Any:
        """The JSON of the answer to a GET; its status must be 200."""
        status, found = self.ask("GET", path)
        assert status == 200, (path, status, found)
        return found

    def post(self, path: str, body: Any) -> Any:
        """The same for a POST."""
        status, found = self.ask("POST", path, body)
        assert status == 200, (path, status, found)
        return found

    def enter(self, user: str = "", password: str = "") -> tuple[int, Any]:
        """Sign in, or enter without it where that is allowed."""
        body = {"user": user, "password": password}
        method, sent = ("POST", body) if password else ("GET", None)
        answer = self.request(method, "/api/session", sent)
        found = json.loads(answer.data)
        cookie = answer.headers.get("set-cookie")
        if cookie:
            self.cookie = cookie.partition(";")[0]
        self.token = found.get("token", "")
        return answer.status, found

    @contextmanager
    def live(self, path: str) -> Iterator[Iterator[Any]]:
        """A live answer: its state after each change."""
        with self.lines(f"/live{path}") as lines:
            yield states(lines)

    @contextmanager
    def lines(self, path: str) -> Iterator[Iterator[bytes]]:
        """The same, a line at a time."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request("GET", f"/api{path}", None, {"cookie": self.cookie})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield iter(answer)


def states(lines: Iterable[bytes]) -> Iterator[Any]:
    """The states in the events: first a whole one, then its changes."""
    kind, state = "", None
    for line in lines:
        name, _, data = line.decode().rstrip("\n").partition(": ")
        if name == "event":
            kind = data
        elif name == "data":
            found = json.loads(data)
            state = found if kind == "state" else changed(state, found)
            yield state


def changed(state: Any, changes: list[tuple[list[Any], Any]]) -> Any:
    """A state after changes, as the page applies them."""
    for (*way, last), value in changes:
        at = state
        for step in way:
            at = at[step]
        at[last] = value
    return state


def key(name: str | bytes) -> str:
    """A name as a part of an address; a browser would remove a part of only dots."""
    data = name.encode() if isinstance(name, str) else name
    return quote_from_bytes(data, safe="") + ("%" if data in (b".", b"..") else "")


@contextmanager
def console(url: str, *options: str) -> Iterator[Asker]:
    """A console of a server, until the test is over."""
    command = [sys.executable, "-m", "forebay", "console", "--port", "0", "--url", url, *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = ADDRESS.search(line)
        assert found, (line, process.stderr.read() if process.stderr else "")
        yield Asker(int(found.group(2)), process.pid)
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=30)
    assert "Traceback" not in errors, errors
