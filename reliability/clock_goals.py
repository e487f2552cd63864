"""R22: the wall clock of the machine is changed while the server works.

A server runs in this process with a clock that the test controls.  Each attempt sets
the wall clock back an hour, ahead a day, a little either way, or stops it; then
real time passes.  During all of it
  - XADD gives IDs that rise;
  - a client that waits with BLOCK gets its answer after the time that it asked for, by the
    monotonic clock and within the allowed drift;
  - no client is closed as idle, and no idle time goes below zero.
"""

from __future__ import annotations

import random
from pathlib import Path

from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.server.logger import Log
from forebay.server.net.turn_end import TurnEnd
from forebay.server.server import Server
from reliability.goals import Outcome
from reliability.ledger import Id, read_id, write_id
from testkit.hand_server import Client, HandClock
from testkit.resp import encode, parse, split_replies

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
#: The server takes a clock for changed when the two clocks differ by a second more than before; so
#: within one wait they may drift by a second either way.
DRIFT_MS = 2000
NOTHING = b"(nothing)"
TIMED_OUT = b"*-1\r\n"


class Wait:
    """One client in XREAD BLOCK, and when its wait must end by the monotonic clock."""

    def __init__(self, server: Server, clock: HandClock, block_ms: int) -> None:
        self.client = Client(server)
        self.end_ms = clock.steady_ms + block_ms
        self.is_done = False
        request = encode("XREAD", "BLOCK", block_ms, "STREAMS", "silent", "$")
        assert self.client.ask(request) == NOTHING

    def fault(self, clock: HandClock) -> str:
        """What is wrong at this moment with the answer, or with its absence."""
        answer, late_ms = self.client.answer(), clock.steady_ms - self.end_ms
        self.is_done = answer != NOTHING
        is_due = late_ms >= -DRIFT_MS if self.is_done else late_ms <= DRIFT_MS
        if answer not in (NOTHING, TIMED_OUT) or not is_due:
            self.is_done = True
            return f"a wait was answered {answer!r} {late_ms} ms after its end"
        return ""


def clock_steps(n: int, seed: int, scratch: Path) -> Outcome:
    """``n`` steps of the clock on one server."""
    dice, clock, outcome = random.Random(seed), HandClock(), Outcome()
    settings = Settings()
    settings.timeout_s = 10 * DAY_MS // 1000
    engine, log = Engine(settings, clock), Log(clock, str(scratch / "log"))
    server = Server(settings, engine, TurnEnd(engine.effects), log, clock)
    client = Client(server)
    waits: list[Wait] = []
    last: Id = (0, 0)
    client.ask(encode("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM"))
    for step in range(n):
        name = step_the_clock(dice, clock)
        outcome.n += 1
        outcome.count(name)
        last, faults = add_entries(client, dice, last)
        faults += idle_faults(client)
        faults += wait_faults(server, clock, dice, waits)
        outcome.failures += [f"step {step} ({name}) of seed {seed}: {fault}" for fault in faults]
    for each in (client, *(wait.client for wait in waits)):
        server.loop.close(each.conn)
        each.close()
    server.loop.epoll.close()
    return outcome


def step_the_clock(dice: random.Random, clock: HandClock) -> str:
    """Change the wall clock, then let a little real time pass; returns what was changed."""
    name = dice.choice(("back", "ahead", "jitter", "stopped", "running"))
    by_ms = {"back": -HOUR_MS, "ahead": DAY_MS, "jitter": dice.randint(-500, 500)}.get(name, 0)
    clock.wall_ms += by_ms
    passed_ms = dice.choice((0, 1, 10, 400))
    clock.steady_ms += passed_ms
    if name != "stopped":
        clock.wall_ms += passed_ms
    return name


def add_entries(client: Client, dice: random.Random, last: Id) -> tuple[Id, list[str]]:
    """Add a few entries: their IDs must be above the last one."""
    faults = []
    count = dice.randint(1, 5)
    for reply in split_replies(client.ask(encode("XADD", "s", "*", "f", "v") * count)):
        entry = read_id(parse(reply))
        if entry <= last:
            faults.append(f"{write_id(entry)} came after {write_id(last)}")
        last = entry
    return last, faults


def idle_faults(client: Client) -> list[str]:
    """Deliver one entry and look at all idle times: none is below zero."""
    client.ask(encode("XREADGROUP", "GROUP", "g", "c", "COUNT", 1, "STREAMS", "s", ">"))
    pending = parse(client.ask(encode("XPENDING", "s", "g", "-", "+", 10)))
    consumers = parse(client.ask(encode("XINFO", "CONSUMERS", "s", "g")))
    idle = [record[2] for record in pending]
    for consumer in consumers:
        facts = dict(zip(consumer[::2], consumer[1::2], strict=True))
        idle += [facts[b"idle"], facts[b"inactive"]]
    client.ask(encode("XGROUP", "DELCONSUMER", "s", "g", "c"))
    return [f"an idle time of {ms} ms" for ms in idle if ms < 0]


def wait_faults(
    server: Server, clock: HandClock, dice: random.Random, waits: list[Wait]
) -> list[str]:
    """Let the loop see the time; exactly the waits that are over must have an answer."""
    server.loop.next_beat_ms = 0
    server.loop.turn()
    server.visit_clients()
    faults = [fault for wait in waits if (fault := wait.fault(clock))]
    for wait in [wait for wait in waits if wait.is_done]:
        waits.remove(wait)
        if wait.client.conn.fd < 0:
            faults.append("a waiting client was thrown out")
        server.loop.close(wait.client.conn)
        wait.client.close()
    if len(waits) < 5:
        waits.append(Wait(server, clock, dice.choice((1, 100, 1000, 5000))))
    return faults
