"""From a URL to a connection: one server, a primary behind Sentinel, or a cluster.

    redis://host:6379/0            one server; rediss:// for TLS, unix:///path for a socket
    redis+sentinel://h1:26379,h2:26379/service/0     the primary that Sentinel names
    redis+cluster://h1:7000,h2:7001                  the node that holds the key

A ``Link`` is one connection on which nothing is decoded: replies stay bytes and lists,
because they become Arrow one page at a time, not one value at a time.  It uses RESP2, so
that a reply has the same form on every server.

Commands of ``call`` and ``call_all`` must be safe to send twice (reads, and writes that only
set), so they are repeated on a new connection when the old one broke or the primary
moved.  Code that sends anything else uses ``send`` and ``reply`` inside ``retry``, and makes
sure that nothing is done twice.  patience.py says how long this continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.connection import AbstractConnection
from redis.crc import key_slot
from redis.retry import Retry
from redis.sentinel import Sentinel

from forebay_spark.errors import OptionError
from forebay_spark.options import LONG_RETRY_S, STREAM, Options
from forebay_spark.servers.long_replies import long_string
from forebay_spark.servers.patience import BROKEN, PASSING, Patience, translate

SENTINEL, CLUSTER = "+sentinel", "+cluster"
SCHEMES = ("redis", "rediss", "unix")
#: How much of a page is taken from a socket at once; redis-py takes 64 KB, which costs more.
READ_BYTES = 256 << 10

#: redis-py sends its version to each server, for which it reads the disk: twice the CPU time of
#: the rest of a connection.  These arguments turn that off; they have other names since 7.1.
_ABOUT_REDIS_PY = ("driver_info",), ("lib_name", "lib_version")
UNTOLD: dict[str, None] = next(
    dict.fromkeys(names)
    for names in _ABOUT_REDIS_PY
    if set(names) <= signature(AbstractConnection.__init__).parameters.keys()
)

Pool = redis.ConnectionPool

T = TypeVar("T")
Argument = bytes | str | int | float
Command = tuple[Argument, ...]


class Address(NamedTuple):
    """A parsed URL."""

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
    """Parse a URL; OptionError says what is wrong with it."""
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
            f"The url {_without_secret(url)!r} has a port that is not a number. "
            "Write host:port, as in redis://127.0.0.1:6379."
        ) from None


def _without_secret(url: str) -> str:
    scheme, slashes, rest = url.partition("://")
    return scheme + slashes + rest.rpartition("@")[2]


def bulk(data: bytes) -> bytes:
    """One argument of a command on the wire."""
    return b"$%d\r\n%b\r\n" % (len(data), data)


def pack(*command: Argument) -> bytes:
    """A command on the wire."""
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in command]
    return b"".join((b"*%d\r\n" % len(parts), *map(bulk, parts)))


def _nothing() -> None:
    pass


class Link:
    """One connection, opened on first use."""

    def __init__(self, find_pool: Callable[[bool], Pool], patience: Patience) -> None:
        """``find_pool`` gives the pool; its argument says whether there was a fault."""
        self._find_pool = find_pool
        self._pool: Pool | None = None
        self._had_fault = False
        self._patience = patience
        self._connection: Any = None

    def send(self, *commands: Command) -> None:
        """Send commands in one write; each needs its own ``reply``."""
        self.send_packed(b"".join(pack(*command) for command in commands))

    def send_packed(self, data: bytes) -> None:
        """Send commands that are bytes already."""
        try:
            if self._connection is None:
                self._pool = self._find_pool(self._had_fault)
                self._connection = self._pool.get_connection()
                self._had_fault = False
                self._patience.meet()
            self._connection.send_packed_command([data], check_health=False)
        except redis.exceptions.RedisError:
            self.drop()
            raise

    def receive(self, *, long: bool = False) -> Any:
        """The next reply, undecoded; an error reply is raised.

        ``long``: a long string may be returned as a buffer of Arrow.
        """
        if self._connection is None:
            raise redis.exceptions.ConnectionError("the connection was closed")
        try:
            string = long_string(self._connection) if long else None
            if string is not None:
                return string
            return self._connection.read_response(disable_decoding=True)
        except BROKEN:
            self.drop()
            raise

    def ask(self, *command: Argument) -> Any:
        """One command and its reply, tried once; faults and refusals are redis-py's own."""
        self.send(command)
        return self.receive()

    def ask_all(self, commands: Sequence[Command]) -> list[Any]:
        """Replies of many commands, tried once; a fault or refusal takes the place of a reply."""
        try:
            self.send(*commands)
            return [self._reply_or_refusal() for _ in commands]
        except BROKEN as error:
            self.drop()
            return [error] * len(commands)

    def _reply_or_refusal(self, *, long: bool = False) -> Any:
        try:
            return self.receive(long=long)
        except redis.exceptions.ResponseError as error:
            return error

    def call(self, *command: Argument) -> Any:
        """One command and its reply, tried again while the fault may pass."""
        try:
            return self.retry(lambda: self.ask(*command))
        except redis.exceptions.RedisError as error:
            raise translate(error, self._patience.where, command) from None

    def call_all(self, commands: Sequence[Command]) -> list[Any]:
        """Replies of many commands, refusals among them; all are sent again after a fault."""
        return self.call_packed(b"".join(pack(*command) for command in commands), len(commands))

    def call_packed(self, data: bytes, count: int) -> list[Any]:
        """The same for commands that are bytes already."""

        def once() -> list[Any]:
            self.send_packed(data)
            return [self.reply() for _ in range(count)]

        return self.retry(once)

    def retry(self, attempt: Callable[[], T], clean_up: Callable[[], None] = _nothing) -> T:
        """Run an attempt that uses this link, again on a new connection while that may help."""

        def drop() -> None:
            self.drop()
            clean_up()

        return self._patience.retry(attempt, drop)

    def reply(self, *, long: bool = False) -> Any:
        """The next reply; a refusal is returned, a fault that may pass is raised."""
        reply = self._reply_or_refusal(long=long)
        if isinstance(reply, PASSING):
            raise reply
        return reply

    def drop(self) -> None:
        """Close; the next use opens it again, perhaps to another node."""
        self._had_fault = True
        if self._connection is not None:
            self._connection.disconnect()
        self.rest()

    def rest(self) -> None:
        """Give the connection to others; no reply may be due on it.  See Server.link."""
        connection, self._connection = self._connection, None
        if connection is not None and self._pool is not None:
            self._pool.release(connection)

    @property
    def is_open(self) -> bool:
        """Whether there is a connection now."""
        return self._connection is not None


class Server:
    """The server of the streams; gives links by key."""

    def __init__(self, options: Options, *, met: bool = False, patient: bool = False) -> None:
        """``met``: another process has just talked to it, so it is worth waiting for.

        ``patient``: wait as long as a streaming query does, unless ``retryFor`` says otherwise.
        """
        self._options = options
        self._address = parse_url(options.url)
        self.where = _without_secret(options.url)
        default_s = LONG_RETRY_S if patient or options.where == STREAM else 0.0
        self._patience = Patience(self.where, options.retryFor, default_s, met=met)
        self._links: dict[str | int | None, Link] = {}
        self._cluster: redis.RedisCluster | None = None
        self._pool: Pool | None = None

    @property
    def is_cluster(self) -> bool:
        """Whether keys live on different nodes."""
        return self._address.kind == CLUSTER

    def link(self, key: str) -> Link:
        """The link to the node of a key; in a cluster it finds the key again if that moves.

        Keys of one slot share a link.  Links that rest share the connections of a node.
        """
        if not self.is_cluster:
            return self._link(None, lambda _: self._plain_pool())
        slot = key_slot(key.encode())
        return self._link(
            slot, lambda had_fault: self._pool_of(self._node_now(key, fresh=had_fault))
        )

    def by_node(self, keys: Iterable[str]) -> list[tuple[Link, list[str]]]:
        """Keys by the node that has them, with a link that stays there even if slots move."""
        groups: dict[Link, list[str]] = {}
        for key in keys:
            link = self._node_link(self._node_of(key)) if self.is_cluster else self.link(key)
            groups.setdefault(link, []).append(key)
        return list(groups.items())

    def on_primaries(self, work: Callable[[Link], T]) -> list[T]:
        """The results of some work on each node that holds keys; all again after a fault."""

        def attempt() -> list[T]:
            if not self.is_cluster:
                return [work(self.link(""))]
            return [work(self._node_link(node)) for node in self._nodes().get_primaries()]

        try:
            return self._patience.retry(attempt, self.start_anew)
        except redis.exceptions.RedisError as error:
            raise translate(error, self.where) from None

    def start_anew(self) -> None:
        """Forget which node has which keys."""
        self.close()
        self._cluster = None

    def answers(self) -> bool:
        """Whether it answers now."""
        try:
            self.link("").ask("PING")
        except redis.exceptions.RedisError:
            return False
        return True

    def close(self) -> None:
        """Close every connection, those at rest too."""
        for link in self._links.values():
            link.drop()
        self._links.clear()
        if self._pool is not None:
            self._pool.disconnect()
        if self._cluster is not None:
            self._cluster.close()

    def _link(self, name: str | int | None, find_pool: Callable[[bool], Pool]) -> Link:
        if name not in self._links:
            self._links[name] = Link(find_pool, self._patience)
        return self._links[name]

    def _node_link(self, node: ClusterNode) -> Link:
        return self._link(node.name, lambda _: self._pool_of(node))

    def _settings(self) -> dict[str, Any]:
        """Keyword arguments that every connection gets."""
        given = {
            "username": self._options.user or self._address.user,
            "password": self._options.password or self._address.password,
        }
        return {
            **{name: value for name, value in given.items() if value is not None},
            # With TLS a server first sends its tickets.  redis-py takes them for an unread reply
            # and gives up, unless the reply to a command follows them.
            **({} if self._address.tls else UNTOLD),
            "protocol": 2,
            "socket_read_size": READ_BYTES,
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
            sentinel_kwargs={
                **UNTOLD,
                "socket_timeout": float(self._options.timeoutSeconds),
                "protocol": 2,
            },
        )
        database = int(rest[0]) if rest else 0
        client = sentinel.master_for(
            service, db=database, ssl=self._address.tls, **self._settings()
        )
        pool: Pool = client.connection_pool
        return pool

    def _nodes(self) -> redis.RedisCluster:
        """The cluster client, used only for its map of slots."""
        if self._cluster is None:
            hosts = [ClusterNode(host, port) for host, port in self._address.hosts]
            try:
                self._cluster = redis.RedisCluster(
                    startup_nodes=hosts, ssl=self._address.tls, **self._settings()
                )
            except redis.exceptions.RedisClusterException as error:
                cause = error.__cause__ or error
                if isinstance(cause, redis.exceptions.AuthenticationError):
                    raise cause from None
                # None of its nodes answers, or none has a complete map: that may pass.
                raise redis.exceptions.ConnectionError(str(cause)) from None
        return self._cluster

    def _node_of(self, key: str) -> ClusterNode:
        """The node of a key, after a wait if no node knows it."""
        return self._patience.retry(lambda: self._node_now(key), self.start_anew)

    def _node_now(self, key: str, *, fresh: bool = False) -> ClusterNode:
        """The same by the map of slots; ``fresh`` reads the map again first."""
        cluster = self._nodes()
        try:
            if fresh:
                cluster.nodes_manager.initialize()
            node: ClusterNode = cluster.get_node_from_key(key)
            return node
        except redis.exceptions.RedisClusterException as error:
            # During a failover perhaps no node has a complete map; one will have it soon.
            raise redis.exceptions.ConnectionError(str(error)) from None

    def _pool_of(self, node: ClusterNode) -> Pool:
        pool: Pool = self._nodes().get_redis_connection(node).connection_pool
        return pool
