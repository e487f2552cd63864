"""An engine client with stand-ins for the server's services: CONFIG and INFO work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.commands.api.context import Context
from forebay.server.config.config import Config
from forebay.server.durability.durability import Durability
from forebay.server.info.info import Info
from forebay.server.logger import Log
from forebay.server.machine import Machine
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import TurnEnd
from forebay.server.startup import replicate
from testkit.engine_client import EngineClient


class Traffic:
    """Bytes of all connections, as set by a test."""

    bytes_in = 100
    bytes_out = 200


class StillLoop:
    """A loop that never runs; it remembers the requests."""

    def __init__(self) -> None:
        self.watchers: dict[int, Callable[[], None]] = {}
        self.closed_recipients = 0

    def watch(self, fd: int, watcher: Callable[[], None]) -> None:
        self.watchers[fd] = watcher

    def unwatch(self, fd: int) -> None:
        del self.watchers[fd]

    def close_recipients(self) -> None:
        self.closed_recipients += 1


class StillEnding:
    """Ends nothing; it remembers the requests."""

    left_ms = -1

    def __init__(self, asked: list[list[bytes]]) -> None:
        self.asked = asked

    def by_command(self, ctx: Context, words: list[bytes]) -> bool:
        self.asked.append(words)
        return False

    def abort(self) -> bool:
        return False


class AdminClient(EngineClient):
    """Remembers the requests to the process."""

    def __init__(self, config: Config | None = None, **changed_settings: Any) -> None:
        self.config = config or Config()
        for name, value in changed_settings.items():
            setattr(self.config.settings, name, value)
        super().__init__(self.config.settings)
        self.slept_s: list[float] = []
        self.shutdowns: list[list[bytes]] = []
        services = self.engine.services
        services.config = self.config
        clock = Clock()
        self.loop = StillLoop()
        log = Log(clock, level="nothing")
        loop: Any = self.loop
        turn_end = TurnEnd(self.engine.effects)
        self.durability = Durability(self.config.settings, self.engine, loop, turn_end, log, clock)
        services.durability = self.durability
        traffic: Any = Traffic()
        dialer: Any = None
        services.replication = replicate(
            self.engine, loop, traffic, self.durability, Machine(), dialer
        )
        services.info = Info(
            *(self.config, self.engine.stats, traffic, self.durability),
            *(services.replication, clock, "r" * 40),
        )
        services.memory_used = lambda: 10 << 20
        services.memory_peak = lambda: 20 << 20
        services.memory_peak_s = lambda: 1_700_000_000
        services.memory_resident = lambda: 30 << 20
        services.memory_startup = 1 << 20
        services.sleep = self.slept_s.append
        services.ending = StillEnding(self.shutdowns)

    def info(self, *sections: str) -> dict[str, str]:
        """The fields of INFO."""
        text = self("INFO", *sections).decode()
        lines = [line for line in text.split("\r\n") if ":" in line]
        return dict(line.split(":", 1) for line in lines)
