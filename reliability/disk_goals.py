"""R15: the disk fails under load; the server acknowledges only writes that the disk has taken.

    traffic -> fault -> always:    the process ends, exit code not 0, no reply of that turn
                        everysec:  writes are refused with MISCONF, or the connection is
                                   closed, until the disk works and the AOF is whole again
            -> some of them are killed while refusing
            -> the others must heal: write again, more traffic, kill
            -> start -> judge every acknowledgement

A fault that only hits a rewrite must not lose or refuse anything.  disk_steps.py does the
same systematically, step by step, but in one process.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

from reliability.disk_steps import ALL, every_step
from reliability.faults import Fault, available
from reliability.goals import Outcome
from reliability.kill_goals import JOIN_TIMEOUT_S, POLICY, examine
from reliability.ledger import Ledger
from reliability.processes import start
from reliability.traffic import (
    PRODUCERS,
    Connection,
    now_ms,
    prepare,
    restore_consumers,
    start_traffic,
)
from testkit.resp import RawClient, ReplyError
from testkit.servers import ServerProcess

POLICIES = ("always", "everysec")
REFUSALS = ("MISCONF", "EXECABORT")
#: How long a fault may take to show, and a server to heal.
PATIENCE_S = 20.0
PAUSE_S = 0.02


def disk_faults(n: int, seed: int, scratch: Path) -> Outcome:
    """Let every step of the disk fail once; then ``n`` faults under real processes, each kind
    with each policy in turn."""
    outcome = Outcome()
    every_step(ALL, seed, scratch / "steps", outcome)
    dice = random.Random(seed)
    for policy in POLICIES:
        (scratch / policy).mkdir()
    plan = [(p, f) for p in POLICIES for f in available(p, scratch / p)]
    for i in range(n):
        policy, fault = plan[i % len(plan)]
        scene = Scene("forebay", policy, fault, scratch / str(i), dice, outcome)
        where = f"{fault.name}, {policy}, fault {i} of seed {seed}"
        outcome.failures += [f"{where}: {text}" for text in scene.play()]
        outcome.n += 1
        outcome.count(fault.name.replace(" ", "_"))
    return outcome


class Scene:
    """One server, one fault, to the end."""

    def __init__(
        self,
        kind: str,
        policy: str,
        fault: type[Fault],
        directory: Path,
        dice: random.Random,
        outcome: Outcome,
    ) -> None:
        self.kind, self.policy, self.directory = kind, policy, directory
        self.dice, self.outcome = dice, outcome
        self.data = directory / "data"
        self.data.mkdir(parents=True)
        self.fault = fault(dice, self.data)
        self.ledger = Ledger({})
        self.cycle = 0

    def start(self, *, traced: bool) -> ServerProcess:
        """Start the server, with the fault prepared or without."""
        tracer = self.fault.tracer() if traced else ()
        directives = ("--dir", str(self.data), *POLICY, self.policy)
        return start(self.kind, self.directory, *directives, tracer=tracer)

    def play(self) -> list[str]:
        """Play the whole scene; returns what was broken."""
        self.fault.prepare()
        server = self.start(traced=True)
        try:
            connections, faults = self.act(server)
            server.kill()
            self.fault.lift(server)
            for connection in connections:
                connection.line.ended(now_ms())
            if not faults:
                server = self.start(traced=False)
                faults = examine(server, self.ledger, connections, self.outcome)
        except (RuntimeError, EOFError, OSError) as error:
            faults = [f"{error!r}; the log:\n{server.log()}"]
        finally:
            server.kill()
            self.fault.clean()
        self.outcome.count("acknowledged", self.ledger.acknowledged)
        return faults

    def act(self, server: ServerProcess) -> tuple[list[Connection], list[str]]:
        """Traffic, the fault, and the server's reaction."""
        control = server.client(unix=True)
        with control:
            return self.act_with(server, control)

    def act_with(
        self, server: ServerProcess, control: RawClient
    ) -> tuple[list[Connection], list[str]]:
        """The same, with a connection that observes."""
        self.ledger = prepare(control)
        self.ledger.tolerated = REFUSALS
        connections = self.work(server)
        time.sleep(self.dice.uniform(0.02, 0.15))
        self.fault.set(server)
        if self.fault.is_harmless:
            faults = self.rewrite(server, control)
        elif self.policy == "always":
            faults = self.see_it_end(server)
        else:
            faults = self.see_it_refuse(server, control, connections)
            if not faults and self.dice.random() < 0.6:
                self.fault.lift(server)
                faults = self.see_it_heal(server, control, connections)
                connections = [] if faults else self.work(server)
                time.sleep(self.dice.uniform(0.02, 0.15))
        server.kill()
        for connection in connections:
            connection.join(JOIN_TIMEOUT_S)
        return connections, faults

    def work(self, server: ServerProcess) -> list[Connection]:
        """All connections at work."""
        clients = [server.client(unix=True) for _ in range(PRODUCERS + len(self.ledger.consumers))]
        self.cycle += 1
        return start_traffic(clients, self.ledger, self.dice, self.cycle)

    def rewrite(self, server: ServerProcess, control: RawClient) -> list[str]:
        """Some rewrites, which may fail; the server goes on, and so do its clients."""
        for _ in range(3):
            control("BGREWRITEAOF")
            time.sleep(self.dice.uniform(0.05, 0.2))
        if not server.alive():
            return [f"a failed rewrite ended the server; its log:\n{server.log()}"]
        if self.ledger.refused:
            return ["a failed rewrite made the server refuse writes"]
        return []

    def see_it_end(self, server: ServerProcess) -> list[str]:
        """``always``: the process ends, and says so."""
        deadline = time.monotonic() + PATIENCE_S
        while server.alive() and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
        if server.alive():
            return [f"the server goes on; its log:\n{server.log()}"]
        if server.process.returncode in (0, None):
            return [f"exit code {server.process.returncode}"]
        self.outcome.count("ended")
        return []

    def see_it_refuse(
        self, server: ServerProcess, control: RawClient, connections: list[Connection]
    ) -> list[str]:
        """``everysec``: a write is refused; while the fault stays, so is every other one."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_refused(server) and not self.has_passed(server, connections):
            if time.monotonic() > deadline:
                return [f"no write was ever refused; the log:\n{server.log()}"]
            time.sleep(PAUSE_S)
        if not server.alive():
            return [f"the server ended; its log:\n{server.log()}"]
        self.outcome.count("refused_writes")
        if self.fault.stays:
            for _ in range(20):
                if not self.is_refused(server):
                    return ["a write was acknowledged while the disk was failing"]
                time.sleep(PAUSE_S)
        reply = control("XLEN", "orders")
        return [] if isinstance(reply, int) else [f"a read was answered {reply!r}"]

    def has_passed(self, server: ServerProcess, connections: list[Connection]) -> bool:
        """Whether a fault that ends by itself may have happened between two checks."""
        is_felt = self.ledger.refused > 0 or not all(c.is_alive() for c in connections)
        return not self.fault.stays and is_felt and "Input/output error" in server.log()

    def is_refused(self, server: ServerProcess) -> bool:
        """Try a write that is not in the ledger; a closed connection counts as a refusal too."""
        try:
            with server.client(unix=True) as client:
                reply = client("SET", "probe", self.dice.random())
        except (EOFError, OSError):
            return True
        return isinstance(reply, ReplyError) and str(reply).startswith(REFUSALS)

    def see_it_heal(
        self, server: ServerProcess, control: RawClient, connections: list[Connection]
    ) -> list[str]:
        """Wait until writes work again; then all data in memory is promised again."""
        for connection in connections:
            connection.stop_asked.set()
        for connection in connections:
            connection.join(JOIN_TIMEOUT_S)
            connection.line.ended(now_ms())
        deadline = time.monotonic() + PATIENCE_S
        while self.is_refused(server):
            if time.monotonic() > deadline or not server.alive():
                return [f"writes are still refused; the log:\n{server.log()}"]
            time.sleep(PAUSE_S)
        faults = examine(server, self.ledger, connections, self.outcome)
        if not faults:
            restore_consumers(control, self.ledger)
            self.outcome.count("healed")
        return faults
