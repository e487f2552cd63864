"""From a URL to a connection: one server, a primary behind Sentinel, or a cluster.

    redis://host:6379/0            one server; rediss:// for TLS, unix:///path for a socket
    redis+sentinel://h1:26379,h2:26379/service/0     the primary that Sentinel names
    redis+cluster://h1:7000,h2:7001                  the node that holds the key

A ``Link`` is one connection on which nothing is decoded: replies stay bytes and
lists, because turning them into Arrow is done a page at a time and not a value at
a time.  RESP2 is asked for, so that a reply has one shape on every server.

What ``call`` and ``call_all`` send is safe to send twice (reads, and writes that only
set), so they repeat it on a fresh connection when the old one broke or the primary
moved.  Whoever sends anything else uses ``send`` and ``reply`` and decides alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from forebay_spark.errors import OptionError, ServerError
from forebay_spark.options import Options

#: Pauses before each further attempt: together longer than a quick failover's gap.
RETRY_PAUSES_S = (0.05, 0.2, 0.5, 1.0, 2.0)

SENTINEL, CLUSTER = "+sentinel", "+cluster"
SCHEMES = ("redis", "rediss", "unix")

#: Nothing was heard.
BROKEN = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)

#: Replies after which the same command may succeed, here or on another node.
PASSING = (
    *BROKEN,
    redis.exceptions.MovedError,
    redis.exceptions.AskError,
    redis.exceptions.TryAgainError,
    redis.exceptions.ClusterDownError,
    redis.exceptions.ReadOnlyError,
    redis.exceptions.MasterDownError,
)

Pool = redis.ConnectionPool


class Address(NamedTuple):
    """A URL taken apart."""

    scheme: str
    kind: str
    hosts: tuple[tuple[str, int], ...]
    path: tuple[str, ...]
    user: str | None
    password: str | None

    @property
    def tls(self) -> bool:
        return self.scheme == "rediss"


def parse_url(url: str) -> Address:
    """Take a URL apart; OptionError says what is wrong with it."""
    parts = urlsplit(url)
    kind = next((k for k in (SENTINEL, CLUSTER) if parts.scheme.endswith(k)), "")
    scheme = parts.scheme.removesuffix(kind)
    if scheme not in SCHEMES or (scheme == "unix" and kind):
        raise OptionError(
            f"The url {_without_secret(url)!r} has no known scheme. It begins with redis://, "
            "rediss://, unix://, redis+sentinel:// or redis+cluster://."
        )
    userinfo, _, hosts = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    default_port = 26379 if kind == SENTINEL else 6379
    address = Address(
        scheme,
        kind,
        tuple(_host(text, default_port, url) for text in hosts.split(",") if text),
        tuple(part for part in parts.path.split("/") if part),
        unquote(user) or None,
        unquote(password) or None,
    )
    if kind == SENTINEL and not address.path:
        raise OptionError(
            f"The url {_without_secret(url)!r} does not name the service that Sentinel watches. "
            "Write it after the hosts, as in redis+sentinel://host:26379/mymaster."
        )
    return address


def _host(text: str, default_port: int, url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        return parts.hostname or "127.0.0.1", parts.port or default_port
    except ValueError:
        raise OptionError(
            f"The url {_without_secret(url)!r} has a port that is no number. "
            "Write host:port, as in redis://127.0.0.1:6379."
        ) from None


def _without_secret(url: str) -> str:
    scheme, slashes, rest = url.partition("://")
    return scheme + slashes + rest.rpartition("@")[2]


def bulk(data: bytes) -> bytes:
    """One argument of a command on the wire."""
    return b"$%d\r\n%b\r\n" % (len(data), data)


def pack(*command: Any) -> bytes:
    """A command on the wire."""
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"".join((b"*%d\r\n" % len(parts), *map(bulk, parts)))


class Link:
    """One connection, opened on first use."""

    def __init__(self, open_connection: Callable[[], Any], where: str) -> None:
        self._open = open_connection
        self._where = where
        self._connection: Any = None

    def send(self, *commands: Sequence[Any]) -> None:
        """Send commands in one write; each wants its own ``reply``."""
        self.send_packed(b"".join(pack(*command) for command in commands))

    def send_packed(self, data: bytes) -> None:
        """Send commands that are bytes already."""
        try:
            if self._connection is None:
                self._connection = self._open()
            self._connection.send_packed_command([data], check_health=False)
        except redis.exceptions.RedisError:
            self.drop()
            raise

    def receive(self) -> Any:
        """The next reply, undecoded; an error reply is raised."""
        if self._connection is None:
            raise redis.exceptions.ConnectionError("the connection was closed")
        try:
            return self._connection.read_response(disable_decoding=True)
        except BROKEN:
            self.drop()
            raise

    def call(self, *command: Any) -> Any:
        """One command and its reply, tried again while the fault may pass."""
        for pause_s in (*RETRY_PAUSES_S, None):
            try:
                self.send(command)
                return self.receive()
            except PASSING as error:
                self.drop()
                if pause_s is None or isinstance(error, redis.exceptions.AuthenticationError):
                    raise translate(error, self._where) from None
                time.sleep(pause_s)
            except redis.exceptions.RedisError as error:
                raise translate(error, self._where, command) from None
        raise AssertionError("the last pause is None")

    def call_all(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Replies of many commands, refusals among them; all are sent again after a fault."""
        return self.call_packed(b"".join(pack(*command) for command in commands), len(commands))

    def call_packed(self, data: bytes, count: int) -> list[Any]:
        """The same for commands that are bytes already."""
        for pause_s in (*RETRY_PAUSES_S, None):
            try:
                self.send_packed(data)
                return [self.reply() for _ in range(count)]
            except PASSING as error:
                self.drop()
                if pause_s is None or isinstance(error, redis.exceptions.AuthenticationError):
                    raise translate(error, self._where) from None
                time.sleep(pause_s)
        raise AssertionError("the last pause is None")

    def reply(self) -> Any:
        """The next reply; a refusal is returned, a fault that may pass is raised."""
        try:
            return self.receive()
        except PASSING:
            raise
        except redis.exceptions.ResponseError as error:
            return error

    def drop(self) -> None:
        """Close; the next use opens anew, perhaps to another node."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()


def translate(error: Exception, where: str, command: Sequence[Any] = ()) -> ServerError:
    """An error of redis-py in our words."""
    text = str(error).rstrip(".")
    if isinstance(error, redis.exceptions.AuthenticationError) or "NOAUTH" in text:
        return ServerError(
            f"The server at {where} refuses the login ({text}). "
            "Check user and password, in the url or as options."
        )
    if "WRONGTYPE" in text and len(command) > 1:
        key = command[2] if str(command[0]).upper() in ("XINFO", "XGROUP") else command[1]
        name = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
        return ServerError(f"The key {name!r} at {where} is not a stream. Name streams only.")
    if isinstance(error, redis.exceptions.ConnectionError | redis.exceptions.TimeoutError):
        return ServerError(
            f"No server answers at {where} ({text}). Start it, or correct the option url."
        )
    return ServerError(f"The server at {where} answers: {text}.")


class Server:
    """Where the streams live; hands out links by key."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._address = parse_url(options.url)
        self.where = _without_secret(options.url)
        self._links: dict[Any, Link] = {}
        self._cluster: redis.RedisCluster | None = None
        self._pool: Pool | None = None

    @property
    def is_cluster(self) -> bool:
        """Whether keys live on different nodes."""
        return self._address.kind == CLUSTER

    def link(self, key: str) -> Link:
        """The link to the node of a key; links are shared by keys of one node."""
        if not self.is_cluster:
            return self._link(None, lambda: self._plain_pool().get_connection())
        slot = self._nodes().keyslot(key)
        return self._link(slot, lambda: self._pool_of_slot(key).get_connection())

    def primaries(self) -> list[Link]:
        """A link to each node that holds keys of its own."""
        if not self.is_cluster:
            return [self.link("")]
        nodes = self._nodes().get_primaries()
        return [self._link(node.name, self._opener(node)) for node in nodes]

    def close(self) -> None:
        """Drop every connection."""
        for link in self._links.values():
            link.drop()
        self._links.clear()

    def _link(self, name: Any, open_connection: Callable[[], Any]) -> Link:
        if name not in self._links:
            self._links[name] = Link(open_connection, self.where)
        return self._links[name]

    def _settings(self) -> dict[str, Any]:
        """Keyword arguments that every connection gets."""
        given = {
            "username": self._options.user or self._address.user,
            "password": self._options.password or self._address.password,
        }
        return {
            **{name: value for name, value in given.items() if value is not None},
            "protocol": 2,
            "socket_timeout": float(self._options.timeoutSeconds),
            "socket_connect_timeout": float(self._options.timeoutSeconds),
        }

    def _plain_pool(self) -> Pool:
        if self._pool is None:
            maker = self._sentinel_pool if self._address.kind == SENTINEL else self._url_pool
            self._pool = maker()
        return self._pool

    def _url_pool(self) -> Pool:
        try:
            pool: Pool = Pool.from_url(
                self._options.url, retry=Retry(NoBackoff(), 0), **self._settings()
            )
        except ValueError as error:
            raise OptionError(f"The url {self.where!r} cannot be used: {error}.") from None
        return pool

    def _sentinel_pool(self) -> Pool:
        service, *rest = self._address.path
        sentinel = Sentinel(
            list(self._address.hosts),
            sentinel_kwargs={"socket_timeout": float(self._options.timeoutSeconds), "protocol": 2},
        )
        database = int(rest[0]) if rest else 0
        client = sentinel.master_for(
            service, db=database, ssl=self._address.tls, **self._settings()
        )
        pool: Pool = client.connection_pool
        return pool

    def _nodes(self) -> redis.RedisCluster:
        """The cluster client, used for its map of slots alone."""
        if self._cluster is None:
            hosts = [redis.cluster.ClusterNode(host, port) for host, port in self._address.hosts]
            try:
                self._cluster = redis.RedisCluster(
                    startup_nodes=hosts, ssl=self._address.tls, **self._settings()
                )
            except redis.exceptions.RedisClusterException as error:
                unreachable = redis.exceptions.ConnectionError(str(error.__cause__ or error))
                raise translate(unreachable, self.where) from None
            except redis.exceptions.RedisError as error:
                raise translate(error, self.where) from None
        return self._cluster

    def _pool_of_slot(self, key: str) -> Pool:
        """The pool of the node that has the key now; a new link asks for the map anew."""
        cluster = self._nodes()
        try:
            cluster.nodes_manager.initialize()
        except redis.exceptions.RedisClusterException as error:
            # In the middle of a failover no node may have a whole map; it will have soon.
            raise redis.exceptions.ConnectionError(str(error)) from None
        return self._opener_pool(cluster.get_node_from_key(key))

    def _opener(self, node: Any) -> Callable[[], Any]:
        return lambda: self._opener_pool(node).get_connection()

    def _opener_pool(self, node: Any) -> Pool:
        pool: Pool = self._nodes().get_redis_connection(node).connection_pool
        return pool
