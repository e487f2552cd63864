"""R1, R2 and R28: a server under load is ended again and again, on one data directory.

    start -> read all state -> judge it against the ledger -> trim
          -> 4 producers, 2 consumers, a count in another database, now and then
             BGREWRITEAOF, BGSAVE or a kill of the child that does it
          -> SIGKILL after 20..200 ms -> start (a few die on the way) ...

The data directory is never cleaned, so an error that needs two crashes to show
is found too.  A kill does not touch the page cache: with every policy the writes
have reached the kernel before the reply, so no policy may lose anything.  With
SIGTERM instead, the server must also end soon, with exit code 0.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from reliability.found import read_state
from reliability.goals import Outcome
from reliability.judge import judge
from reliability.ledger import Ledger
from reliability.power_window import power_losses
from reliability.processes import children_of, moments, start, start_and_kill
from reliability.traffic import (
    KEYS,
    PRODUCERS,
    Connection,
    now_ms,
    prepare,
    restore_consumers,
    start_traffic,
    trim,
)
from testkit.resp import RawClient
from testkit.servers import ServerProcess

KILL_AFTER_S = (0.020, 0.200)
KILL_START_AFTER_S = (0.1, 0.8)
#: Background work during the traffic; KILL ends the child that is at work.
WORK = ("BGREWRITEAOF", "BGREWRITEAOF", "BGSAVE", "KILL")
TICK, TICK_DATABASE, TICKS = "tick", 5, 6
#: A stream longer than this is trimmed at the start of a cycle, to a length that varies.
LONG = 3000
JOIN_TIMEOUT_S = 30.0
#: One kill of redis-server for this many of Forebay.
CONTROL_SHARE = 10
#: This many power failures, which are quicker, for each kill of R2.
POWER_LOSSES = 10
#: A server that was asked to stop is gone within this time.
STOP_S = 10.0
EAGER = ("--auto-aof-rewrite-min-size", "30000", "--auto-aof-rewrite-percentage", "30")
POLICY = ("--appendonly", "yes", "--appendfsync")


def always(n: int, seed: int, scratch: Path) -> Outcome:
    """R1: appendfsync always."""
    outcome = Outcome()
    Loop("forebay", "always", scratch / "always", outcome).run(n, seed)
    outcome.figures["redis_control"] = control(n // CONTROL_SHARE, seed, scratch / "redis")
    return outcome


def control(n: int, seed: int, directory: Path) -> str:
    """The same loop with a real Redis, which keeps its promises: the judge must find nothing."""
    outcome = Outcome()
    Loop("redis", "always", directory, outcome).run(n, seed)
    return f"{outcome.n} kills, {len(outcome.failures)} broken"


def everysec_and_no(n: int, seed: int, scratch: Path) -> Outcome:
    """R2: half of the kills with each of the other policies; and power losses."""
    outcome = Outcome()
    Loop("forebay", "everysec", scratch / "everysec", outcome).run(n - n // 2, seed)
    Loop("forebay", "no", scratch / "no", outcome).run(n // 2, seed + 1)
    power_losses(POWER_LOSSES * n, seed, scratch / "power", outcome)
    return outcome


def graceful_stops(n: int, seed: int, scratch: Path) -> Outcome:
    """R28: SIGTERM, a third of the stops with each policy."""
    outcome = Outcome()
    for i, policy in enumerate(("always", "everysec", "no")):
        share = (n + i) // 3
        Loop("forebay", policy, scratch / policy, outcome, end=stop).run(share, seed + i)
    return outcome


def kill(server: ServerProcess) -> list[str]:
    """The end by SIGKILL."""
    server.kill()
    return []


def stop(server: ServerProcess) -> list[str]:
    """The end by SIGTERM: in time, and with exit code 0."""
    begin = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    try:
        code = server.process.wait(2 * STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        return [f"it did not stop within {2 * STOP_S} s; the log:\n{server.log()}"]
    seconds = time.monotonic() - begin
    if code != 0 or seconds > STOP_S:
        return [f"exit code {code} after {seconds:.1f} s; the log:\n{server.log()}"]
    return []


class Loop:
    """One kind of server, one policy, one directory, one way to end."""

    def __init__(
        self,
        kind: str,
        policy: str,
        directory: Path,
        outcome: Outcome,
        end: Callable[[ServerProcess], list[str]] = kill,
    ) -> None:
        self.kind, self.policy, self.directory = kind, policy, directory
        self.outcome, self.end = outcome, end

    def start(self, dice: random.Random) -> ServerProcess:
        """Start a server on the directory as the last one left it.  Half of them rewrite by
        themselves, and often.  Some are killed before they are ready."""
        eager = EAGER if dice.random() < 0.5 else ()
        directives = (*POLICY, self.policy, *eager)
        while dice.random() < 0.2:
            after_s = dice.uniform(*KILL_START_AFTER_S)
            start_and_kill(self.kind, self.directory, *directives, after_s=after_s)
            self.outcome.count("killed_while_starting")
        return start(self.kind, self.directory, *directives)

    def run(self, n: int, seed: int) -> None:
        """``n`` lives; the loop ends with the first broken promise."""
        dice = random.Random(seed)
        self.directory.mkdir(parents=True)
        server = self.start(dice)
        try:
            with server.client(unix=True) as client:
                ledger = prepare(client)
            for cycle in range(n):
                connections = self.one_life(server, ledger, dice, cycle)
                self.outcome.n += 1
                try:
                    server = self.start(dice)
                    faults = examine(server, ledger, connections, self.outcome)
                except (RuntimeError, EOFError, OSError) as error:
                    faults = [f"it does not start again: {error}"]
                if faults:
                    where = f"{self.kind}, {self.policy}, end {cycle} of seed {seed}"
                    self.outcome.failures += [f"{where}: {fault}" for fault in faults]
                    return
        finally:
            server.kill()
        self.outcome.count("acknowledged", ledger.acknowledged)

    def one_life(
        self, server: ServerProcess, ledger: Ledger, dice: random.Random, cycle: int
    ) -> list[Connection]:
        """Traffic until the end; returns the connections with their requests in flight."""
        control = server.client(unix=True)
        restore_consumers(control, ledger)
        for key in KEYS:
            if len(ledger.entries[key]) > LONG:
                trim(control, ledger, key, dice.randint(0, LONG))
        clients = [server.client(unix=True) for _ in range(PRODUCERS + len(ledger.consumers))]
        connections = start_traffic(clients, ledger, dice, cycle)
        disturb(server, ledger, dice, self.outcome)
        if not server.alive():
            ledger.complaints.append(f"the server died by itself; its log:\n{server.log()}")
        ledger.complaints += self.end(server)
        control.close()
        for connection in connections:
            connection.join(JOIN_TIMEOUT_S)
            connection.line.ended(now_ms())
            if connection.broken is not None:
                raise connection.broken
        return connections


def disturb(server: ServerProcess, ledger: Ledger, dice: random.Random, outcome: Outcome) -> None:
    """Wait for the moment of the end; on the way count ticks in another database, so that the AOF
    changes databases often, and start and kill background work."""
    begin, end_s = time.monotonic(), dice.uniform(*KILL_AFTER_S)
    plan = [(moment_s, "INCR") for moment_s in moments(dice, end_s, TICKS)]
    works = moments(dice, end_s, dice.choice((0, 0, 1, 1, 2)))
    plan += [(moment_s, dice.choice(WORK)) for moment_s in works]
    with ticking(server) as control:
        for moment_s, what in sorted(plan):
            time.sleep(max(0.0, begin + moment_s - time.monotonic()))
            if what == "INCR":
                ledger.ticks = control("INCR", TICK)
            elif what == "KILL":
                for child in children_of(server.pid):
                    os.kill(child, signal.SIGKILL)
                    outcome.count("children_killed")
            else:
                control(what)
                outcome.count(what.lower())
        time.sleep(max(0.0, begin + end_s - time.monotonic()))


def ticking(server: ServerProcess) -> RawClient:
    """A connection to the database of the ticks."""
    client = server.client(unix=True)
    client("SELECT", TICK_DATABASE)
    return client


def examine(
    server: ServerProcess, ledger: Ledger, connections: list[Connection], outcome: Outcome
) -> list[str]:
    """Judge the data of the restarted server."""
    with server.client(unix=True) as control:
        found = read_state(control, list(KEYS), list(ledger.counters))
    lines = [connection.line for connection in connections]
    outcome.count("in_flight", sum(len(line.in_flight) for line in lines))
    before = sum(len(ledger.entries[key].keys() | ledger.shown[key].keys()) for key in KEYS)
    faults = judge(ledger, lines, found)
    with ticking(server) as control:
        ticks = int(control("GET", TICK) or 0)
    if ticks != ledger.ticks:
        faults.append(f"{ticks} ticks, not {ledger.ticks}")
    after = sum(len(stream.entries) for stream in found.streams.values())
    outcome.count("entries_examined", max(before, after))
    return faults
