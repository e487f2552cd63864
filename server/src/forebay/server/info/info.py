"""INFO: the state of the server as sections of ``field:value`` lines.

    INFO                       the default sections
    INFO all | everything      those and the statistics by command
    INFO section [section ...] just these, always in the usual order

Sections and field names are those of Redis 7 and 8, because exporters and
dashboards look for them; a field about something that does not exist here keeps
its place with 0 or another neutral value.  Fields of our own begin with
``forebay_``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from forebay.commands.api.context import Context
from forebay.commands.api.services import Stats
from forebay.server.config.config import Config
from forebay.server.durability.durability import Durability
from forebay.server.info import sections
from forebay.server.info.memory_section import Fields
from forebay.server.info.sections import Facts
from forebay.server.info.usage import Rate
from forebay.server.net.timers import Clock
from forebay.server.net.turn_end import Participant
from forebay.server.replication.replication import Replication

Section = Callable[[Context, Facts], Fields]


class Traffic(Protocol):
    """The byte counters of all connections."""

    bytes_in: int
    bytes_out: int


#: Name, heading, function; in the order in which they are printed.
SECTIONS: list[tuple[str, str, Section]] = [
    ("server", "Server", sections.server),
    ("clients", "Clients", sections.clients),
    ("memory", "Memory", sections.memory),
    ("persistence", "Persistence", sections.persistence),
    ("threads", "Threads", sections.threads),
    ("stats", "Stats", sections.stats),
    ("replication", "Replication", sections.replication),
    ("cpu", "CPU", sections.cpu),
    ("modules", "Modules", sections.nothing),
    ("commandstats", "Commandstats", sections.commandstats),
    ("errorstats", "Errorstats", sections.errorstats),
    ("latencystats", "Latencystats", sections.latencystats),
    ("cluster", "Cluster", sections.cluster),
    ("keyspace", "Keyspace", sections.keyspace),
]
ALL = {name for name, _, _ in SECTIONS}
#: The sections of INFO without arguments.
DEFAULT = ALL - {"commandstats", "latencystats"}
GROUPS = {"default": DEFAULT, "all": ALL, "everything": ALL}


class Info(Participant):
    """Answers INFO; every beat takes a sample for the rates."""

    def __init__(
        self,
        config: Config,
        stats: Stats,
        traffic: Traffic,
        durability: Durability,
        replication: Replication,
        clock: Clock,
        run_id: str,
    ) -> None:
        self.stats = stats
        self.traffic = traffic
        self.clock = clock
        self.facts = Facts(config, durability, replication, clock, run_id, clock.now_ms())
        self.commands = Rate()
        self.input = Rate()
        self.output = Rate()
        self.turns = Rate()
        self.turns_us = Rate()

    def beat(self) -> None:
        """Sample the counters whose rates are reported."""
        stats = self.stats
        now_ms = self.clock.monotonic_ms()
        self.commands.sample(now_ms, stats.commands)
        self.turns.sample(now_ms, stats.turns)
        self.turns_us.sample(now_ms, stats.turns_us)
        self.input.sample(now_ms, self.traffic.bytes_in)
        self.output.sample(now_ms, self.traffic.bytes_out)

    def __call__(self, ctx: Context, names: Sequence[bytes]) -> bytes:
        """The text of the sections asked for."""
        facts = self.facts
        facts.now_ms = self.clock.now_ms()
        facts.bytes_in, facts.bytes_out = self.traffic.bytes_in, self.traffic.bytes_out
        facts.commands_per_second = round(self.commands.per_second())
        facts.input_kbps = self.input.per_second() / 1024
        facts.output_kbps = self.output.per_second() / 1024
        facts.turns_per_second = round(self.turns.per_second())
        facts.turn_us = self.turns_us.growth() // max(1, self.turns.growth())
        wanted = _wanted(names)
        texts = [
            _text(heading, section(ctx, facts))
            for name, heading, section in SECTIONS
            if name in wanted
        ]
        return b"\r\n".join(texts)


def _wanted(names: Sequence[bytes]) -> set[str]:
    wanted: set[str] = set()
    for name in names or (b"default",):
        word = name.decode("utf-8", "replace").lower()
        wanted |= GROUPS.get(word, {word})
    return wanted


def _text(heading: str, fields: Fields) -> bytes:
    lines = [f"# {heading}\r\n", *(f"{name}:{value}\r\n" for name, value in fields)]
    return "".join(lines).encode("utf-8", "surrogateescape")
