"""A small HTTP server for probes: /live, /ready and /metrics.

    /live      200 while the event loop turns
    /ready     200 while streams are read, else 503
    /metrics   Prometheus

It knows only GET, reads no more than a few kilobytes, and closes after each answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from forebay_workers.errors import ConfigError

MOST_REQUEST_BYTES = 8192
REQUEST_TIMEOUT_S = 5.0
TEXT = "text/plain; version=0.0.4; charset=utf-8"
REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


def address(text: str) -> tuple[str, int]:
    """``:8081`` or ``host:8081``; without a host only this machine can connect."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise ConfigError(f"{text!r} is not an address for --health. Write :8081 or 0.0.0.0:8081.")
    return host.strip("[]") or "127.0.0.1", int(port)


class Health:
    """Answers probes."""

    def __init__(self, is_ready: Callable[[], bool], metrics: Callable[[], str]) -> None:
        self._is_ready = is_ready
        self._metrics = metrics
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; return the port (for 0, a free one)."""
        try:
            self._server = await asyncio.start_server(
                self._serve, host, port, limit=MOST_REQUEST_BYTES
            )
        except OSError as error:
            raise ConfigError(
                f"--health cannot listen on {host}:{port} ({error.strerror}). Choose another port."
            ) from None
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
                status, body = self._answer(head.split(b"\r\n", 1)[0].split())
                reply = (
                    f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {TEXT}\r\n"
                    f"Content-Length: {len(body.encode())}\r\nConnection: close\r\n\r\n{body}"
                )
                writer.write(reply.encode())
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a probe that gave up, or did not speak HTTP
        finally:
            writer.close()

    def _answer(self, words: list[bytes]) -> tuple[int, str]:
        if len(words) != 3 or words[0] != b"GET":
            return 405, "only GET\n"
        path = words[1].split(b"?")[0]
        if path == b"/live":
            return 200, "live\n"
        if path == b"/ready":
            return (200, "ready\n") if self._is_ready() else (503, "not ready\n")
        if path == b"/metrics":
            return 200, self._metrics()
        return 404, "try /live, /ready or /metrics\n"
