"""The address of a server: a URL taken apart; its secret is never shown.

redis://[[user]:password@]host[:port][/database]       unix://[[user]:password@]/path[?db=database]
rediss://...[?ssl_ca_certs=FILE]                       TLS; the part after ? is for redis-py
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

DEFAULT_URL = "redis://127.0.0.1:6379"
DEFAULT_PORT = 6379
SCHEMES = ("redis", "rediss", "unix")
WANTED = "a server is redis://host:port, rediss://host:port for TLS, or unix:///path"


@dataclass(frozen=True, slots=True)
class Address:
    """One server; ``path`` is set for a unix socket, ``host`` and ``port`` for TCP.

    ``query`` holds options of redis-py, such as ``ssl_ca_certs=ca.pem``.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    path: str = ""
    user: str = ""
    password: str = ""
    database: int = 0
    is_tls: bool = False
    query: str = ""

    def __str__(self) -> str:
        database = f"/{self.database}" if self.database else ""
        if self.path:
            return f"unix://{self.path}" + (f"?db={self.database}" if self.database else "")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'rediss' if self.is_tls else 'redis'}://{host}:{self.port}{database}"

    def command(self, *words: str) -> str:
        """A shell line that sends a command there; it asks for a password if there is one."""
        line = ["redis-cli"]
        line += ["-s", self.path] if self.path else ["-h", self.host, "-p", str(self.port)]
        line += ["--tls"] if self.is_tls else []
        line += ["--user", self.user] if self.user else []
        line += ["--askpass"] if self.password else []
        return shlex.join([*line, *words])

    def setting(self, name: str, value: str) -> str:
        """A shell line that changes a setting of a running server."""
        return self.command("CONFIG", "SET", name, value)


def parse_url(url: str) -> Address:
    """Take a URL apart; ValueError says what is wrong with it, and never shows its secret."""
    parts = urlsplit(url)
    scheme, slashes, rest = url.rpartition("://")
    shown = scheme + slashes + rest.rpartition("@")[2]
    if parts.scheme not in SCHEMES:
        raise ValueError(f"{shown!r} cannot be used; {WANTED}")
    try:
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise ValueError(f"{shown!r} has a port that is no number; {WANTED}") from None
    is_unix = parts.scheme == "unix"
    path = unquote(parts.path) if is_unix else ""
    if is_unix and not path:
        raise ValueError(f"{shown!r} names no socket; {WANTED}")
    named = parse_qs(parts.query).get("db", [])
    database = named[-1] if named else "" if is_unix else parts.path.strip("/")
    if database and not database.isdecimal():
        raise ValueError(f"{shown!r} has a database that is no number; {WANTED}")
    return Address(
        host=parts.hostname or "127.0.0.1",
        port=port,
        path=path,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=int(database or 0),
        is_tls=parts.scheme == "rediss",
        query=parts.query,
    )
