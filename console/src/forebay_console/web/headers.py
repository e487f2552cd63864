"""The headers of every answer, and the requests that are refused at once.

- The page loads and runs only our own files: ``default-src 'self'`` without exceptions.
- No other page may show ours in a frame, so it cannot trick a user into clicking on ours.
- The name in ``Host`` must be one of ours: a foreign name that points at this machine (DNS
  rebinding) would otherwise make a foreign page one of ours.
- The browser stores nothing that holds data.

Names in addresses of the API stay percent-encoded until a view decodes them: a name may hold a
slash, and bytes that are not text.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'; img-src 'self' data:"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
API = "/api/"
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """Checks requests before the app gets them."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        """``names``: allowed names in Host, without the port; ``*`` for any."""
        self._app = app
        self._names = {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse unknown hosts, add the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if not self._knows(host_of(scope)):
            text = "This console does not answer to that name; start it with --host NAME.\n"
            await PlainTextResponse(text, 421)(scope, receive, send_with)
            return
        await self._app(encoded(scope), receive, send_with)

    def _knows(self, host: str) -> bool:
        return "*" in self._names or host in self._names


def encoded(scope: Scope) -> Scope:
    """A request to the API with its path as it was sent."""
    if not scope["path"].startswith(API):
        return scope
    return {**scope, "path": scope["raw_path"].decode("ascii", "replace").partition("?")[0]}


def host_of(scope: Scope) -> str:
    """The name that the browser asked for, without the port."""
    for name, value in scope["headers"]:
        if name == b"host":
            text = str(value.decode("latin-1")).lower()
            return text if text.endswith("]") else text.rpartition(":")[0] or text
    return ""
