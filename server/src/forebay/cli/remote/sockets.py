"""From an address to an open socket.

    redis://host:port, unix:///path       the standard library
    rediss://..., and options after ?     redis-py, which has the options and knows their meaning

redis-py takes longer to import than a small command takes to run, so it is imported only if
needed.
"""

from __future__ import annotations

import socket
from typing import Any

from forebay.cli.remote.address import Address


class BadOptionError(Exception):
    """The URL has an option that does not exist or cannot be used."""


class NobodyError(Exception):
    """No server answers there; the text says why."""


def opened(address: Address, patience_s: float) -> socket.socket:
    """A connection; it does not log in and sends nothing."""
    if address.is_tls or has_options(address):
        return _by_redis_py(address, patience_s)
    try:
        if address.path:
            return _at_path(address.path, patience_s)
        made = socket.create_connection((address.host, address.port), patience_s)
    except (OSError, UnicodeError) as error:
        raise NobodyError(reason_of(error)) from None
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _at_path(path: str, patience_s: float) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(patience_s)
        made.connect(path)
    except OSError:
        made.close()
        raise
    return made


def has_options(address: Address) -> bool:
    """Whether a URL has options besides the database."""
    return any(part.partition("=")[0] != "db" for part in address.query.split("&") if part)


def _by_redis_py(address: Address, patience_s: float) -> socket.socket:
    from redis.backoff import NoBackoff
    from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection, parse_url
    from redis.exceptions import RedisError
    from redis.retry import Retry

    options: dict[str, Any] = {"socket_timeout": patience_s, "socket_connect_timeout": patience_s}
    kind: type = SSLConnection if address.is_tls else Connection
    try:
        options |= parse_url(f"redis://?{address.query}")
        options.pop("db", None)
        options |= {"retry": Retry(NoBackoff(), 0), "redis_connect_func": lambda _: None}
        if address.path:
            kind, options["path"] = UnixDomainSocketConnection, address.path
        else:
            options |= {"host": address.host, "port": address.port}
        connection = kind(**options)
    except (TypeError, ValueError, RedisError) as error:
        raise BadOptionError(str(error)) from None
    try:
        connection.connect()
    except (RedisError, OSError, UnicodeError) as error:
        raise NobodyError(reason_of(error)) from None
    made: socket.socket = connection._sock
    connection._sock = None  # it is ours now; redis-py's object must not close it
    return made


def reason_of(error: Exception) -> str:
    """Why there is no connection, in a few words."""
    found: BaseException | None = error
    while found is not None and not (isinstance(found, OSError) and found.strerror):
        found = found.__cause__ or found.__context__
    told = getattr(found, "strerror", None) or str(error) or "no answer"
    return str(told).removesuffix(".")
