"""From a URL to links.

    redis://host:6379/0            one server; unix:///path for a socket
    rediss://host:6380?ssl_ca_certs=/path/ca.pem     the same with TLS
    redis+sentinel://h1:26379,h2:26379/service/0     the primary that Sentinel names
    redis+cluster://h1:7000,h2:7000                  a cluster (cluster.py)

A ``Server`` has three kinds of links: a shared one for all quick commands, one for blocking
commands, and one for transactions that watch keys, which need their own connection for a while.
It uses RESP2, so that a reply has the same form on every server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from redis import asyncio as redis_asyncio
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError

from forebay_workers.errors import ConfigError
from forebay_workers.servers.link import Argument, Command, Link, Reply, hang_up

SENTINEL = "redis+sentinel://"
SCHEMES = ("redis://", "rediss://", "unix://", SENTINEL)
CONNECT_TIMEOUT_S = 5.0
#: Options of a URL that name files, for TLS.
FILE_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


class Asks(Protocol):
    """The interface of a link, real or in tests."""

    async def ask(self, *command: Argument, block_s: float = 0.0) -> Reply: ...
    async def ask_all(self, commands: list[Command], *, block_s: float = 0.0) -> list[Reply]: ...
    async def transaction(self, commands: list[Command]) -> list[Reply]: ...
    async def close(self) -> None: ...


class Serves(Protocol):
    """The interface of a server, real or in tests."""

    where: str

    @property
    def shared(self) -> Asks: ...
    def blocking(self) -> Asks: ...
    def slot(self, key: str) -> int: ...
    def watching(self) -> Any: ...
    async def close(self) -> None: ...


def without_secret(url: str) -> str:
    """A URL that may be shown: without the password and the options, which may hold one."""
    scheme, slashes, rest = url.partition("?")[0].partition("://")
    return scheme + slashes + rest.rpartition("@")[2]


class Server:
    """One server, or the primary that Sentinel names now."""

    def __init__(self, url: str, pool: Any = None) -> None:
        """``pool`` makes the connections; by default the URL says how."""
        if pool is None and not url.startswith(SCHEMES):
            raise ConfigError(
                f"The URL {without_secret(url)!r} has no known scheme. It begins with redis://, "
                "rediss://, unix://, redis+sentinel:// or redis+cluster://."
            )
        self.where = without_secret(url)
        self._pool = pool or _pool(url)
        self._shared = Link(self._open)
        self._watching = Link(self._open)
        self._one_watcher = asyncio.Lock()
        self._links = [self._shared, self._watching]

    @property
    def shared(self) -> Link:
        """The link for all quick commands."""
        return self._shared

    def blocking(self) -> Link:
        """A new link for blocking commands."""
        link = Link(self._open)
        self._links.append(link)
        return link

    def slot(self, key: str) -> int:
        """Keys with the same number can be in one command, and in one transaction."""
        return 0

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[Link]:
        """A link for WATCH ... MULTI ... EXEC, for this caller alone."""
        async with self._one_watcher:
            try:
                yield self._watching
            except BaseException:
                await self._watching.close()  # so that nothing stays watched
                raise

    async def close(self) -> None:
        """Close every connection."""
        for link in self._links:
            await link.close()
        await self._pool.disconnect()
        if isinstance(self._pool, SentinelConnectionPool):
            for sentinel in self._pool.sentinel_manager.sentinels:
                await sentinel.aclose()

    async def _open(self) -> Any:
        connection = self._pool.make_connection()
        try:
            await connection.connect()
        except MasterNotFoundError:
            # The library's own text shows internals of the client.
            raise ConnectionError("no Sentinel can be reached that knows the primary") from None
        except BaseException:
            await hang_up(connection)  # it may be open, but not usable yet
            raise
        return connection


def settings() -> dict[str, Any]:
    """The settings of every connection."""
    return {
        "protocol": 2,
        # Link has one time limit for a whole batch.
        "socket_timeout": None,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "retry": Retry(NoBackoff(), 0),
    }


def _pool(url: str) -> Any:
    if url.startswith(SENTINEL):
        return _sentinel_pool(url)
    _check_files(url)
    try:
        pool = redis_asyncio.ConnectionPool.from_url(url, **settings())
        pool.make_connection()  # opens nothing, but refuses unknown options
    except (ValueError, TypeError) as error:
        raise _unusable(url, error) from None
    return pool


def _unusable(url: str, reason: object) -> ConfigError:
    text = str(reason).rpartition("unexpected keyword argument ")
    reason = f"it has no option {text[2]}" if text[1] else reason
    return ConfigError(f"The URL {without_secret(url)!r} cannot be used: {reason}.")


def _check_files(url: str) -> None:
    """Certificate files in the URL must exist; otherwise the worker would wait for them."""
    for name, (path, *_) in parse_qs(urlsplit(url).query).items():
        if name in FILE_OPTIONS and not Path(path).is_file():
            raise _unusable(url, f"there is no file {path!r}, which {name} names")


def _sentinel_pool(url: str) -> Any:
    parts = urlsplit(url)
    userinfo, _, hosts = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    service, _, database = parts.path.strip("/").partition("/")
    if not service or not hosts:
        raise ConfigError(
            f"The URL {without_secret(url)!r} does not name the service that Sentinel watches. "
            "Write it after the hosts, as in redis+sentinel://host:26379/mymaster."
        )
    try:
        addresses = [
            (host or "127.0.0.1", int(port or 26379))
            for host, _, port in (text.partition(":") for text in hosts.split(","))
        ]
        db = int(database or 0)
    except ValueError as error:
        raise _unusable(url, error) from None
    quick = {"socket_timeout": CONNECT_TIMEOUT_S, "retry": Retry(NoBackoff(), 0)}
    sentinel = Sentinel(addresses, sentinel_kwargs=quick)
    given: dict[str, Any] = {
        "username": unquote(user) or None,
        "password": unquote(password) or None,
        "db": db,
    }
    return sentinel.master_for(service, **given, **settings()).connection_pool
