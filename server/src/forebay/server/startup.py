"""Start-up: the only module that knows all parts and puts them together.

    command line -> Config -> Settings -+-> Engine -----.
                                        |-> TurnEnd -----+-> doors open -> load -> ready
                                        |-> Server ------+
                                        '-> Durability --'
    TurnEnd    the parts that have work at the end of a turn of the loop (net/turn_end.py)
    Services   what commands need from the server: config, info, memory, dice, SHUTDOWN, files

A part gets what it needs when it is made.  Later connections are made here, in assemble():
participants of a turn, services, and listeners of CONFIG SET.

Every error before the server is ready is one sentence and exit code 1: a wrong line, an address
or a directory that is not available, a file that cannot be loaded.  With ``daemonize yes`` the
server is a child from the first step after its configuration was read, and its starter waits
until the data is loaded (process.py): the exit code tells whether there is a server.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Sequence

import forebay
from forebay.commands.access.rules import RuleError
from forebay.commands.api.services import Services
from forebay.commands.api.session import Session
from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.engine.faults import Faults
from forebay.errors import CommandError, ConfigError
from forebay.server import process
from forebay.server.config import user_lines
from forebay.server.config.access_file import AclFile
from forebay.server.config.config import Config
from forebay.server.config.tls_rows import TLS
from forebay.server.durability.durability import Durability
from forebay.server.ending import Ending
from forebay.server.info import usage
from forebay.server.info.info import Info
from forebay.server.logger import Log
from forebay.server.machine import Machine
from forebay.server.net.connection import Shared
from forebay.server.net.loop import Loop
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import TurnEnd
from forebay.server.replication.dialing import Dialer
from forebay.server.replication.failover import Failover
from forebay.server.replication.feed import Feed
from forebay.server.replication.full_sync import FullSync
from forebay.server.replication.incoming import Incoming
from forebay.server.replication.primary import PrimarySide
from forebay.server.replication.replica import ReplicaSide
from forebay.server.replication.replication import Replication
from forebay.server.server import Server

#: Directives whose change by CONFIG SET needs an action.
CONNECTION_DIRECTIVES = (
    "proto-max-bulk-len",
    "client-query-buffer-limit",
    "hz",
    "maxmemory",
    "maxmemory-clients",
)
#: The kind of build, as the first line of the log names it.
HOW = {
    forebay.COMPILED: "compiled",
    forebay.UNTYPED: "compiled without its types, slow: build it from a complete source tree",
    forebay.INTERPRETED: "interpreted, slow: for tests only",
}
BOTH_USERS = (
    "the configuration has 'user' lines and an aclfile: only one of them can apply; move the "
    "'user' lines into the file"
)
LISTENING_DIRECTIVES = ("bind", "port", "tls-port")


def serve(argv: Sequence[str], clock: Clock | None = None) -> int:
    """Run a server with this command line; the exit code."""
    clock = Clock() if clock is None else clock
    try:
        config = Config.load(argv)
        log = Log(clock, config.settings.logfile, config.settings.loglevel)
        log.check()
        starter = process.go_to_background() if config.settings.daemonize else process.Foreground()
        server, durability = assemble(config, log, clock)
        open_up(server, durability)
    except ConfigError as error:
        sys.stderr.write(f"forebay: {error}\n")
        return 1
    return live(server, config, durability, starter)


def open_up(server: Server, durability: Durability) -> None:
    """Take the addresses, the data directory and the pid file for us; all or nothing."""
    server.open()
    try:
        durability.prepare()
        tell_pid(server.settings, server.log)
    except ConfigError:
        server.abandon()
        durability.release_folder()
        raise


def tell_pid(settings: Settings, log: Log) -> None:
    """Write the pid file; in the foreground, where the user sees the process, it may fail."""
    if not settings.pidfile:
        return
    try:
        process.write_pidfile(settings.pidfile)
    except ConfigError as error:
        if settings.daemonize:
            raise
        log.warning(f"{error}; the server goes on without it")
        settings.pidfile = ""


def assemble(
    config: Config, log: Log, clock: Clock, machine: Machine | None = None
) -> tuple[Server, Durability]:
    """All parts, connected; no socket is open and no file touched yet."""
    settings = config.settings
    machine = Machine() if machine is None else machine
    engine = Engine(settings, clock, faults=FaultLog(log))
    turn_end = TurnEnd(engine.effects)
    server = Server(settings, engine, turn_end, log, clock)
    durability = Durability(
        *(settings, engine, server.loop, turn_end, log, clock, machine.disk),
        *(machine.make_syncer(server.loop), machine.make_children(server.loop, clock)),
    )
    dialer = Dialer(settings, machine.open_socket, server.tls, server.handshakes)
    replication = replicate(engine, server.loop, server.shared, durability, machine, dialer)
    run_id = machine.new_id()
    info = Info(config, engine.stats, server.shared, durability, replication, clock, run_id)
    turn_end.add_reader(replication.side.reader)
    turn_end.add_reader(durability.reader)
    turn_end.join(replication)
    turn_end.join(durability)
    turn_end.join(info)
    ending = Ending(server, durability, replication.side)
    turn_end.join(ending)
    engine.services.ending = ending
    offer_services(engine.services, config, server, durability, info)
    engine.services.random_below = machine.random_below
    engine.services.random_bytes = machine.random_bytes
    admit_users(engine, config, log)
    engine.services.replication = replication
    follow_changes(config, server, durability)
    config.on_change("repl-backlog-size", replication.side.resize)
    return server, durability


def admit_users(engine: Engine, config: Config, log: Log) -> None:
    """The users of the configuration, or of its ACL file; raises ConfigError."""
    file = AclFile(config.settings, log.warning)
    access = engine.access
    engine.services.access_file = file
    config.users_now = access.users.lines
    if not file.path:
        user_lines.declare(access.users, config.user_lines)
    elif config.user_lines:
        raise ConfigError(BOTH_USERS)
    else:
        try:
            access.exchange(access.users.read_lines(file.read(), file.path))
        except (CommandError, RuleError) as error:
            text = str(error).removeprefix("ERR ")
            raise ConfigError(f"aclfile: {text}") from None


def replicate(
    engine: Engine,
    loop: Loop,
    shared: Shared,
    durability: Durability,
    machine: Machine,
    dialer: Dialer,
) -> Replication:
    """The parts of replication, connected."""
    settings, turn_end = engine.settings, durability.turn_end
    log, clock, disk = durability.log, durability.clock, durability.disk
    side = PrimarySide(settings, engine, turn_end, machine.new_id, log, clock)
    full_sync = FullSync(
        *(settings, engine, disk, durability.children, side),
        *(durability.schedule, loop, log, clock),
    )
    incoming = Incoming(settings, engine, durability, disk, log, clock)
    replica = ReplicaSide(
        *(settings, engine, loop, shared, turn_end, side, incoming),
        *(durability.live, log, clock, dialer),
    )
    failover = Failover(engine, side, replica, log, clock)
    replication = Replication(settings, engine, side, replica, full_sync, failover, log)
    side.reader = Feed(side, durability.live)
    side.copies = full_sync
    failover.roles = replication
    durability.schedule.sync = full_sync
    durability.save_job.where = durability.rewrite_job.where = side.where
    durability.on_loaded = replication.start
    replication.prepare()
    return replication


def offer_services(
    services: Services, config: Config, server: Server, durability: Durability, info: Info
) -> None:
    """Fill in what commands need from the server."""
    gauge = usage.MemoryGauge(server.clock, lambda: server.shared.bytes_in)
    services.config = config
    services.info = info
    services.memory_used = gauge.used
    services.memory_peak = gauge.peak
    services.memory_peak_s = lambda: gauge.peak_s
    services.memory_resident = usage.resident_bytes
    services.memory_startup = gauge.startup_bytes
    services.sleep = time.sleep
    services.durability = durability


def follow_changes(config: Config, server: Server, durability: Durability) -> None:
    """Connect CONFIG SET with the parts that must act on a change."""
    log = server.log
    for name in CONNECTION_DIRECTIVES:
        config.on_change(name, lambda _: server.apply_settings())
    for row in TLS:
        config.on_change(row.name, lambda _: server.reload_tls())
    for name in LISTENING_DIRECTIVES:
        config.on_change(name, lambda _: server.reopen_tcp())
    config.on_change("loglevel", log.set_level)
    config.on_change("maxclients", check_clients)
    for name in ("maxmemory", "maxmemory-policy"):
        config.on_change(name, lambda _: warn(log, config.eviction_warnings()))
    config.on_change("appendonly", durability.set_appendonly)
    config.on_change("appendfsync", durability.set_policy)
    config.on_change("save", durability.set_save_points)
    config.on_change("dir", durability.set_folder)
    config.on_change("stop-writes-on-bgsave-error", lambda _: durability.gate.refresh())


class FaultLog(Faults):
    """Writes a bug of ours to the log."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def tell(self, session: Session, argv: list[bytes], fault: BaseException) -> None:
        """One line that says where, and the traceback."""
        name = argv[0].decode("utf-8", "replace")
        self.log.warning(f"Internal error in '{name}' of client id={session.id}")
        self.log.traceback(fault)


def live(
    server: Server, config: Config, durability: Durability, starter: process.Foreground
) -> int:
    """From open doors to the end."""
    settings, log = config.settings, server.log
    ending = server.engine.services.ending
    assert isinstance(ending, Ending)
    signals = process.Signals(ending.by_signal)
    ending.on_abort = signals.arm
    server.loop.watch(signals.fileno(), signals.on_readable)
    fit_clients(settings, log)
    greet(server, config)
    process.settle_memory()
    durability.start(on_ready=lambda: welcome(server, config, starter))
    code = run(server, durability)
    process.notify_systemd("STOPPING=1")
    if settings.pidfile:
        process.remove_pidfile(settings.pidfile)
    signals.close()
    log.notice("Forebay is now ready to exit, bye bye...")
    return code


def run(server: Server, durability: Durability) -> int:
    """Serve until the end; the exit code."""
    try:
        server.run()
    except process.Halt as halt:
        server.abandon()
        durability.release_folder()
        if isinstance(halt.code, str):
            sys.stderr.write(f"forebay: {halt.code}\n")
        return 1
    return 0 if durability.close() else 1


def check_clients(wanted: int) -> None:
    """CONFIG SET maxclients: no more than the system has descriptors for."""
    possible = process.make_room_for_clients(wanted)
    if possible < wanted:
        raise ConfigError(
            "The operating system is not able to handle the specified number of clients, "
            f"try with {possible}"
        )


def fit_clients(settings: Settings, log: Log) -> None:
    """Limit maxclients to the descriptors that the system gives."""
    possible = process.make_room_for_clients(settings.maxclients)
    if possible < settings.maxclients:
        log.warning(
            f"maxclients is {possible} and not {settings.maxclients}: "
            f"the limit of open files allows no more (ulimit -n)"
        )
        settings.maxclients = possible


def greet(server: Server, config: Config) -> None:
    """Log the version, the pid and the addresses."""
    log = server.log
    how = HOW[forebay.build()]
    log.notice(f"Forebay {forebay.__version__} ({how}) starts, pid {os.getpid()}")
    warn(log, config.warnings())
    for door in server.doors:
        log.notice(f"Listening on {door.name}")


def warn(log: Log, warnings: Sequence[str]) -> None:
    """Log each of them as a warning."""
    for warning in warnings:
        log.warning(warning)


def welcome(server: Server, config: Config, starter: process.Foreground) -> None:
    """All data is there."""
    gc.freeze()
    server.log.notice(f"Ready to accept connections. Try: {first_step(config.settings)}")
    process.notify_systemd("READY=1")
    starter.ready()


def first_step(settings: Settings) -> str:
    """A first command to try, with the address of this server."""
    where = f"-s {settings.unixsocket}"
    if settings.port:
        where = f"-p {settings.port}"
    elif settings.tls_port:
        where = f"--tls -p {settings.tls_port}"
    secret = " -a PASSWORD" if settings.requirepass else ""
    return f"redis-cli {where}{secret} XADD orders '*' item tea price 3.20"
