"""A running server, looked at twice: its own numbers, and what changed in between.

    first look  ... seconds ...  last look        INFO, CONFIG GET, SLOWLOG GET
         \\________ grown, rate _______/

Forebay, Redis and Valkey answer alike; a fact that one of them does not give is None, and its
judge says ``unknown``.  Settings are asked for one by one, because Redis before 7.0 takes one at a
time, and by name, because a star would bring passwords too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay.cli.remote.address import Address
from forebay.cli.remote.facts import program
from forebay.cli.remote.link import Link, LinkError, Refusal
from forebay.cli.words import whole

SETTINGS = """
    aclfile appendfsync appendonly auto-aof-rewrite-percentage bind client-output-buffer-limit dir
    maxclients maxmemory maxmemory-policy min-replicas-max-lag min-replicas-to-write port
    protected-mode repl-backlog-size repl-ping-replica-period repl-timeout replica-read-only save
    slowlog-log-slower-than tcp-backlog tls-client-key-file tls-key-file tls-port tls-protocols
    """.split()
SLOW_ENTRIES = 128


@dataclass(frozen=True, slots=True)
class Look:
    """The answers of a server at one moment, by our own clocks."""

    info: Mapping[str, str]
    monotonic_s: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class Slow:
    """One entry of the slow log; arguments may be private, so they are not kept."""

    at_s: int
    took_us: int
    command: str


@dataclass(frozen=True, slots=True)
class Patient:
    """All that is known about a server."""

    address: Address
    first: Look
    last: Look
    settings: Mapping[str, str]
    slow: tuple[Slow, ...] | None = None
    #: Whether a client without a password is served; None if that was not tested.
    is_open: bool | None = None

    def text(self, name: str) -> str:
        """A field of INFO; empty if the server has none of this name."""
        return self.last.info.get(name, "")

    def number(self, name: str) -> int | None:
        """A field of INFO that is a whole number."""
        return whole(self.last.info.get(name))

    def setting(self, name: str) -> int | None:
        """A setting that is a whole number."""
        return whole(self.settings.get(name))

    def grown(self, name: str) -> int | None:
        """How much a field grew between both looks; None if the server does not count it."""
        before, after = whole(self.first.info.get(name)), self.number(name)
        return None if before is None or after is None else after - before

    @property
    def watched_s(self) -> float:
        """The time between both looks."""
        return max(self.last.monotonic_s - self.first.monotonic_s, 1e-6)

    @property
    def now_s(self) -> float:
        """The server's own time of day, by which it dates its facts."""
        told_us = self.number("server_time_usec")
        return self.last.wall_s if told_us is None else told_us / 1e6

    @property
    def write_rate(self) -> float | None:
        """Bytes per second sent to replicas; without replicas, the growth of the AOF."""
        is_counted = self.number("repl_backlog_active") == 1
        grown = self.grown("master_repl_offset" if is_counted else "aof_current_size")
        return None if grown is None or grown < 0 else grown / self.watched_s

    @property
    def is_replica(self) -> bool:
        """Whether it follows a primary."""
        return self.text("role") == "slave"

    @property
    def program(self) -> str:
        """What it is, with its version: ``Forebay 0.1.0``."""
        return program(self.last.info)


def look(link: Link) -> Look:
    """Ask for INFO; LinkError if the server refuses."""
    reply = link.ask("INFO")
    if isinstance(reply, Refusal):
        raise not_told(link.address, reply)
    lines = reply.splitlines() if isinstance(reply, str) else []
    info = dict(line.split(":", 1) for line in lines if ":" in line and line[0] != "#")
    if info.get("redis_mode") == "sentinel":
        raise LinkError(
            f"{link.address} is a Sentinel; name one of the servers that it watches instead",
            link.address.command("SENTINEL", "MASTERS"),
        )
    if "role" not in info:
        raise LinkError(
            f"{link.address} does not give its role in INFO, so it cannot be judged",
            link.address.command("INFO", "replication"),
        )
    return Look(info, time.monotonic(), time.clock_gettime(time.CLOCK_REALTIME))


def not_told(address: Address, refusal: Refusal) -> LinkError:
    """The error if INFO was refused: why, and what helps."""
    code = refusal.partition(" ")[0]
    if code == "NOAUTH":
        return LinkError(
            f"{address} wants a password", "forebay doctor --url redis://:PASSWORD@HOST:PORT"
        )
    if code == "DENIED":
        return LinkError(
            f"{address} is in protected mode and serves only its own machine",
            "ssh HOST forebay doctor",
        )
    if "max number of clients" in refusal:
        return LinkError(
            f"{address} turns clients away: maxclients is reached",
            address.setting("maxclients", "20000"),
        )
    return LinkError(f"{address} refuses INFO: {refusal}", address.command("ACL", "WHOAMI"))


def settings_of(link: Link) -> dict[str, str]:
    """The settings that the server tells."""
    replies = link.ask_all([("CONFIG", "GET", name) for name in SETTINGS])
    pairs = [reply for reply in replies if isinstance(reply, list) and len(reply) == 2]
    return {str(name): str(value) for name, value in pairs}


def slow_log(link: Link) -> tuple[Slow, ...] | None:
    """The slow log; None if the server does not tell."""
    reply = link.ask("SLOWLOG", "GET", str(SLOW_ENTRIES))
    if not isinstance(reply, list):
        return None
    return tuple(found for found in map(_slow, reply) if found is not None)


def _slow(entry: Any) -> Slow | None:
    match entry:
        case [_, int(at_s), int(took_us), [str(command), *_], *_]:
            return Slow(at_s, took_us, command.upper())
    return None
