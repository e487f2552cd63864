"""The services that handlers need from above: small Protocols, filled in by engine and server.

    engine fills   sessions  pubsub  blocking  stats  call_counts  slowlog  latency
                   executor  payloads  loaded_scripts  access
    server fills   config  info  memory_used  random_below  random_bytes  ending  durability
                   replication  access_file

A handler reaches them as ``ctx.services.<name>``.  Nothing here depends on the
concrete objects: tests can replace the server's part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from forebay.commands.access.log import AccessLog
    from forebay.commands.access.user import User
    from forebay.commands.access.users import Users
    from forebay.commands.api.context import Context
    from forebay.commands.api.session import Session, Tracked
    from forebay.commands.api.spec import Command
    from forebay.core.keyspace import Value
    from forebay.wire.argv import Argv
    from forebay.wire.resp_writer import RespWriter


#: The jobs of a child: see Durability.job.
SAVE = "save"
REWRITE = "rewrite"
SYNC = "sync"


class Sessions(Protocol):
    """All clients."""

    def __iter__(self) -> Iterator[Session]: ...
    def __len__(self) -> int: ...
    def get(self, number: int) -> Session | None: ...
    def close(self, session: Session) -> None:
        """Close a client after its output is sent."""

    def touched(self, session: Session) -> None:
        """A client has output to send although it did not send a command just now."""


class Pubsub(Protocol):
    """Channels, patterns and shard channels."""

    def subscribe(self, session: Session, channel: bytes) -> bool: ...
    def unsubscribe(self, session: Session, channel: bytes) -> bool: ...
    def psubscribe(self, session: Session, pattern: bytes) -> bool: ...
    def punsubscribe(self, session: Session, pattern: bytes) -> bool: ...
    def ssubscribe(self, session: Session, channel: bytes) -> bool: ...
    def sunsubscribe(self, session: Session, channel: bytes) -> bool: ...
    def drop(self, session: Session) -> None: ...
    def publish(self, channel: bytes, message: bytes) -> int: ...
    def spublish(self, channel: bytes, message: bytes) -> int: ...
    def publish_event(self, flags: int, event: bytes, key: bytes, db_index: int) -> None: ...
    def channel_names(self, pattern: bytes | None, shard: bool = False) -> list[bytes]: ...
    def subscribers(self, channel: bytes, shard: bool = False) -> int: ...
    def pattern_count(self) -> int: ...
    def output(self, session: Session) -> RespWriter:
        """The writer for a message to this client, at this moment."""


class Blocking(Protocol):
    """Waiting clients."""

    def unblock(self, session: Session, error: bytes | None) -> bool:
        """CLIENT UNBLOCK: as if the time were up, or with an error; false if it was not waiting."""

    @property
    def blocked_clients(self) -> int: ...
    @property
    def blocking_keys(self) -> int: ...
    @property
    def blocking_keys_on_missing(self) -> int: ...


class Tracking(Protocol):
    """Client side caching; the numbers are those of INFO."""

    @property
    def clients(self) -> Collection[Session]: ...
    @property
    def table(self) -> Collection[bytes]: ...
    @property
    def items(self) -> int: ...
    @property
    def prefixes(self) -> Collection[bytes]: ...
    def start(self, session: Session, tracked: Tracked, prefixes: list[bytes]) -> None: ...
    def stop(self, session: Session) -> None: ...
    def remember(self, session: Session, row: Command, argv: Argv) -> None:
        """Remember the keys of a call that a client made, if the call reads."""

    def flushed(self) -> None:
        """All keys of at least one database are gone."""


class Executor(Protocol):
    """The engine as commands see it: EXEC, CLIENT PAUSE and MONITOR use it."""

    commands: Mapping[bytes, Command]
    active_expire: bool

    def invoke(self, row: Command, argv: Argv) -> None:
        """Run one command of a transaction: reply, statistics, errors."""

    def kill(self, session: Session) -> None:
        """Close another client, or the caller after its reply."""

    def pause(self, until_ms: int, writes_only: bool) -> None: ...
    def unpause(self) -> None: ...
    def monitor(self, session: Session, on: bool) -> None: ...
    def wall_us(self) -> int:
        """The time in microseconds; ``ctx.now_ms`` is the time at which the turn began."""

    def refusal(self, row: Command, argv: Argv) -> bytes | None:
        """Why a script may not run this command now: no memory left, or disk errors."""


class Stats(Protocol):
    """Counters of the whole server; CONFIG RESETSTAT clears them."""

    commands: int
    connections: int
    rejected_connections: int
    query_limit_disconnections: int
    output_limit_disconnections: int
    expired_keys: int
    expired_unasked: int
    expire_us: int
    evicted_keys: int
    evicted_clients: int
    lazyfreed_objects: int
    error_replies: int
    errors: dict[bytes, int]
    unblocked: int
    denied: dict[bytes, int]
    full_syncs: int
    partial_syncs: int
    refused_partial_syncs: int
    turns: int
    turns_us: int
    reads: int
    writes: int

    @property
    def keyspace_hits(self) -> int: ...

    @property
    def keyspace_misses(self) -> int: ...

    def reset(self) -> None: ...


class CallCount(NamedTuple):
    """The counters of one command."""

    calls: int
    usec: int
    rejected_calls: int
    failed_calls: int
    #: Running times, as admin/histogram.py reads them; empty if it never ran.
    buckets: Sequence[int]


class CallCounts(Protocol):
    """The counters of every command; CONFIG RESETSTAT clears them."""

    def of(self, row: Command) -> CallCount: ...
    def reset(self) -> None: ...


class SlowCall(Protocol):
    """One slow command, with the part of its arguments that was kept."""

    number: int
    at_s: int
    usec: int
    argv: list[bytes]
    #: The number of arguments before they were shortened, command name included.
    argc: int
    addr: bytes
    name: bytes


class Slowlog(Protocol):
    """The latest slow commands, newest first."""

    def entries(self, count: int) -> Sequence[SlowCall]:
        """The newest of them; all if ``count`` is negative."""

    def reset(self) -> None: ...
    def __len__(self) -> int: ...


class Latency(Protocol):
    """Spikes by event name."""

    def record(self, event: bytes, at_s: int, took_ms: int) -> None: ...
    def events(self) -> Collection[bytes]: ...
    def samples(self, event: bytes) -> list[tuple[int, int]]: ...
    def maximum(self, event: bytes) -> int: ...
    def reset(self, events: Collection[bytes]) -> int: ...


class Config(Protocol):
    """Directives by name."""

    def get(self, patterns: list[bytes]) -> dict[bytes, bytes]: ...
    def set(self, pairs: list[tuple[bytes, bytes]], local: bool) -> None:
        """Change all or nothing; ``local``: the client is on this machine and may change more."""

    def rewrite(self) -> None: ...


class Backup(Protocol):
    """All data as of one moment, as files."""

    state: str
    error: str
    start_s: int
    end_s: int
    #: Absolute paths of the files that no longer change.
    pinned: list[str]

    def start(self) -> None: ...
    def seal(self, at_once: bool) -> None:
        """Now; in a transaction at the end of the turn."""

    def abort(self) -> None: ...
    def cleanup(self) -> None: ...


class Durability(Protocol):
    """The state of the data on disk."""

    @property
    def backup(self) -> Backup: ...

    #: The job of a child, running or due at the end of this turn: SAVE, REWRITE, SYNC or none ("").
    @property
    def job(self) -> str: ...
    @property
    def last_save_s(self) -> int: ...
    @property
    def aof_is_on(self) -> bool: ...
    def save(self) -> None:
        """Write the snapshot now; raises CommandError."""

    def save_flushed(self) -> None:
        """All keys are gone: update the snapshot before any client gets the reply."""

    def ask_for(self, job: str) -> None:
        """Start a child for the job at the end of this turn, or as soon as no other child runs."""

    def mark(self) -> int:
        """A mark after everything recorded for the AOF so far."""

    def is_synced(self, mark: int) -> bool:
        """Whether everything before the mark is on disk."""

    def wake_when_synced(self, mark: int, session: Session, is_enough: Callable[[], bool]) -> None:
        """End the wait of a blocked client as soon as everything before the mark is on disk, and it
        ``is_enough``; a sync follows soon.
        """

    def reload(self, save: bool, flush: bool, merge: bool) -> None:
        """DEBUG RELOAD: save the snapshot and load it."""

    def reload_aof(self) -> None:
        """DEBUG LOADAOF: drop all data and load it from the AOF."""


class Link(Protocol):
    """The facts that a replica reports by REPLCONF."""

    port: int
    announced_host: str
    capabilities: set[str]
    version: str
    rdb_only: bool
    rdb_without_data: bool


class Ending(Protocol):
    """SHUTDOWN."""

    @property
    def left_ms(self) -> int:
        """How long replicas have to catch up before the end; -1 if the command does not say."""

    def by_command(self, ctx: Context, words: list[bytes]) -> bool:
        """Stop the server; True if the caller must wait for that.  Raises CommandError."""

    def abort(self) -> bool:
        """Cancel a shutdown; False if none is under way."""


class FailoverPlan(NamedTuple):
    """FAILOVER: to which replica (any if there is no host), for how long to wait, and then?"""

    host: str
    port: int
    timeout_ms: int
    force: bool


class Replication(Protocol):
    """Primary and replicas."""

    @property
    def is_replica(self) -> bool: ...
    @property
    def backlog_bytes(self) -> int:
        """Memory of the stored part of the stream of changes."""

    def follow(self, host: str, port: int) -> bool:
        """Become a replica of that server; false if it is one already."""

    def lead(self) -> None:
        """Become a primary."""

    def role(self) -> list[object]:
        """The answer of ROLE."""

    def link_of(self, session: Session) -> Link:
        """The record of a replica, to be filled in."""

    def take_the_lead(self, replid: str, offset: int, is_forced: bool) -> None:
        """The primary hands its role to this server; raises CommandError if that is impossible."""

    def check_sync(self) -> None:
        """Raise CommandError if this server has no stream to send to a replica."""

    def psync(self, session: Session, replid: str, offset: int) -> None:
        """A replica has the stream of that name up to an offset: send it the rest, or all data."""

    def sync(self, session: Session) -> None:
        """A replica asks for all data by SYNC, the old way."""

    def acked(self, session: Session, offset: int, synced: int) -> None:
        """A replica reports its offset, and that of its disk."""

    def reachable(self, offset: int) -> int:
        """The offset, or the end of the stream if that is less: no replica can get further."""

    def count_acked(self, offset: int) -> int:
        """How many replicas have applied the stream up to that offset."""

    def count_synced(self, offset: int) -> int:
        """How many replicas have the stream on disk up to that offset."""

    def wake_when(self, session: Session, is_enough: Callable[[], bool]) -> None:
        """End the wait of a blocked client as soon as enough replicas have the stream."""

    def pass_on(self, argv: Argv) -> None:
        """Send a call that changes no data to the replicas: PUBLISH."""

    def failover(self, plan: FailoverPlan) -> None:
        """Hand the role of primary over; raises CommandError."""

    def abort_failover(self) -> None:
        """Stay the primary; raises CommandError if no hand-over is under way."""


class Access(Protocol):
    """Users, and the user of each session."""

    users: Users
    log: AccessLog

    def arrive(self, session: Session) -> None:
        """Reset the session to the state of a new connection."""

    def log_in(self, session: Session, name: bytes, password: bytes, command: bytes) -> bool:
        """Log the session in as this user; false if the password is wrong."""

    def set_user(self, name: bytes, words: Sequence[bytes]) -> None:
        """Make or change a user; raises RuleError."""

    def delete_users(self, names: Sequence[bytes]) -> int:
        """Delete users and close their clients; how many there were."""

    def exchange(self, found: dict[bytes, User]) -> None:
        """Replace all users by these; clients of users that no longer exist are closed."""

    def refusal_in_script(self, session: Session, row: Command, argv: Argv) -> bytes | None:
        """Why a script of this client may not run this command."""


class AccessFile(Protocol):
    """The ACL file."""

    @property
    def path(self) -> str:
        """The path in the configuration; empty if there is none."""

    def read(self) -> list[bytes]:
        """Its lines; raises CommandError."""

    def write(self, lines: list[bytes]) -> None:
        """Replace the file by these lines; raises CommandError."""


class Payloads(Protocol):
    """Values as bytes: DUMP and RESTORE."""

    def dump(self, value: Value) -> bytes: ...
    def restore(self, data: bytes) -> Value:
        """The value of a payload; raises the CommandError that RESTORE answers."""


class Services:
    """All services; server/startup.py sets the attributes of the server."""

    sessions: Sessions
    pubsub: Pubsub
    tracking: Tracking
    blocking: Blocking
    executor: Executor
    stats: Stats
    call_counts: CallCounts
    slowlog: Slowlog
    latency: Latency
    config: Config
    #: INFO: the text of the sections asked for (none: the default ones).
    info: Callable[[Context, list[bytes]], bytes]
    memory_used: Callable[[], int]
    memory_peak: Callable[[], int]
    #: When that was, in Unix seconds; the resident memory; the memory in use at the start.
    memory_peak_s: Callable[[], int]
    memory_resident: Callable[[], int]
    memory_startup: int
    #: DEBUG SLEEP: stop everything for this many seconds.
    sleep: Callable[[float], None]
    #: A number in 0..n-1.
    random_below: Callable[[int], int]
    ending: Ending
    durability: Durability
    replication: Replication
    payloads: Payloads
    access: Access
    access_file: AccessFile
    #: This many bytes that cannot be guessed.
    random_bytes: Callable[[int], bytes]
    #: The SHA1 of every script that clients have loaded, in lower case.
    loaded_scripts: set[bytes]
