"""R26: real worker processes, killed at random points, on a server that is killed too.

    publish -> a worker has begun a message -> strike -> another one replaces it -> publish ...

    kill       SIGKILL to a worker: these are counted
    term       SIGTERM: exit code 0 soon after the grace time, nothing pending in its name
    server     SIGKILL to the server, and a start on its files

After the last strike the workers finish the rest, and the judge checks the data of the server
(worker_judge.py).  Messages are published between strikes, so each of them is certain to be there.
worker_order.py checks the order of keys while partitions change their owners.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import redis

from reliability import worker_order
from reliability.goals import Outcome
from reliability.processes import start
from reliability.worker_judge import Book, judge, notes, open_work, read
from reliability.worker_program import BEGUN, GRACE_S, GROUP, STREAM
from testkit.places import ROOT
from testkit.servers import environment

PROGRAM = ("reliability.worker_program",)
KINDS = ("forebay", "redis")
POLICY = ("--appendonly", "yes", "--appendfsync", "always")
CREW = 4
ORDERS, LONG_EACH = 20, 4
#: A strike happens this long after its victim has begun a message.
STRIKE_AFTER_S = (0.0, 0.3)
#: The shares of strikes that do not SIGKILL a worker.
TERM_SHARE, SERVER_SHARE = 0.12, 0.08
#: A worker that was asked to stop ends within this time after its grace: its last commands
#: may have to wait for the server, and the machine may be busy.
SLACK_S = 15.0
#: For a machine that is very busy.
PATIENCE_S = 180.0
PAUSE_S, START_PAUSE_S = 0.02, 0.1


def killed_workers(n: int, seed: int, scratch: Path) -> Outcome:
    """R26: a share of the kills on each kind of server, and on workers that share partitions."""
    outcome = Outcome()
    places = len(KINDS) + len(worker_order.KINDS)
    shares = [(n + number) // places for number in reversed(range(places))]
    for kind, share in zip(KINDS, shares[: len(KINDS)], strict=True):
        if share:
            Round(kind, scratch / kind, outcome).run(share, seed)
    for kind, share in zip(worker_order.KINDS, shares[len(KINDS) :], strict=True):
        if share:
            worker_order.keep_order(kind, scratch / f"order-{kind}", share, seed, outcome)
    return outcome


class Round:
    """One server, a crew of workers, and the strikes at them."""

    def __init__(
        self, kind: str, directory: Path, outcome: Outcome, program: Sequence[str] = PROGRAM
    ) -> None:
        directory.mkdir(parents=True)
        self.kind, self.directory = kind, directory
        self.outcome, self.program = outcome, program
        self.book = Book()
        self.faults: list[str] = []
        self.crew: list[subprocess.Popen[bytes]] = []
        self.server = start(kind, directory, *POLICY)
        self.client = redis.Redis(unix_socket_path=self.server.unix_path, decode_responses=True)
        self._number = 0
        #: The workers that have begun something, as far as the notes were read.
        self._busy: set[int] = set()
        self._read_to = "-"

    def run(self, n: int, seed: int) -> None:
        """``n`` kills of workers, and the other strikes that chance adds."""
        dice = random.Random(f"{seed} {self.kind}")
        try:
            self._enlist()
            kills = 0
            while kills < n and not self.faults:
                self._publish(with_long=kills % LONG_EACH == 0)
                kills += self._strike(dice)
            self._finish()
            self.outcome.n += kills
            self.faults += judge(self.book, self._found())
            self._dismiss()
        finally:
            self._end()
        self.outcome.failures += [f"{self.kind}, seed {seed}: {fault}" for fault in self.faults]

    def _enlist(self) -> None:
        """Fill up the crew."""
        command = [sys.executable, "-m", *self.program, f"unix://{self.server.unix_path}"]
        while len(self.crew) < CREW:
            with (self.directory / "workers.log").open("ab") as log:
                self.crew.append(
                    subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=log, stderr=log)
                )

    def _publish(self, *, with_long: bool) -> None:
        for kind in ("Order",) * ORDERS + ("Poison",) + ("Long",) * with_long:
            self._add(kind)

    def _add(self, kind: str) -> None:
        self._number += 1
        fields: Any = {"@type": kind, "n": self._number}
        self.client.xadd(STREAM, fields)
        self.book.published[kind].append(self._number)

    def _strike(self, dice: random.Random) -> int:
        """One strike; 1 if it was the kill of a worker."""
        victim = self._someone_busy(dice)
        time.sleep(dice.uniform(*STRIKE_AFTER_S))
        self._expect_alive()
        chance = dice.random()
        if chance < SERVER_SHARE:
            self._restart_server()
            return 0
        self.crew.remove(victim)
        self.book.alive_until_ms[victim.pid] = self._now_ms()
        if chance < SERVER_SHARE + TERM_SHARE:
            self._terminate(victim)
        else:
            victim.kill()
            victim.wait()
        self._enlist()
        return int(chance >= SERVER_SHARE + TERM_SHARE)

    def _someone_busy(self, dice: random.Random) -> subprocess.Popen[bytes]:
        """A worker that has begun a message; while all of them are new, more is published."""

        def is_anyone() -> bool:
            self._note_busy()
            if self._busy.isdisjoint(worker.pid for worker in self.crew):
                self._add("Order")
                return False
            return True

        self._until("a worker begins something", is_anyone, START_PAUSE_S)
        return dice.choice([worker for worker in self.crew if worker.pid in self._busy])

    def _note_busy(self) -> None:
        new = notes(self.client, BEGUN, self._read_to)
        if new:
            self._busy |= {note.pid for note in new}
            self._read_to = f"({new[-1].at_ms}-{2**64 - 1}"

    def _now_ms(self) -> int:
        """The server's time."""
        seconds, micros = self.client.time()
        return int(seconds * 1000 + micros // 1000)

    def _restart_server(self) -> None:
        began_ms = self._now_ms()
        self.server.kill()
        self.client.close()
        self.server = start(self.kind, self.directory, *POLICY)
        self.book.outages_ms.append((began_ms, self._now_ms()))
        self.outcome.count("server_kills")

    def _terminate(self, worker: subprocess.Popen[bytes]) -> None:
        """SIGTERM: the worker ends in good order, and nothing stays pending for it."""
        began_s = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        try:
            code = worker.wait(GRACE_S + SLACK_S)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
            self.faults.append(f"a worker did not stop within {GRACE_S + SLACK_S} s")
            return
        self.outcome.count("stops")
        slowest_s = max(self.outcome.figures.get("slowest_stop_s", 0.0), time.monotonic() - began_s)
        self.outcome.figures["slowest_stop_s"] = round(slowest_s, 1)
        consumers: Any = self.client.xinfo_consumers(STREAM, GROUP)
        left = [row for row in consumers if f"-{worker.pid}-" in row["name"]]
        if code != 0 or left:
            self.faults.append(f"after SIGTERM: exit code {code}, and it left {left}")

    def _expect_alive(self) -> None:
        """Check that no worker has ended by itself."""
        dead = [worker.returncode for worker in self.crew if worker.poll() is not None]
        if dead:
            self.faults.append(f"workers ended by themselves, with {dead}; {self._log()}")
            self.crew = [worker for worker in self.crew if worker.returncode is None]

    def _finish(self) -> None:
        """Let the workers finish the rest."""
        try:
            self._until("all is settled", lambda: open_work(self.client) == (0, 0))
        except AssertionError as error:
            self.faults.append(str(error))
        self._expect_alive()

    def _found(self) -> Any:
        found = read(self.client)
        self.outcome.count("messages", self._number)
        self.outcome.count("begun", len(found.begun))
        self.outcome.count("letters", len(found.letters))
        return found

    def _dismiss(self) -> None:
        """Stop all workers that surely work; one that is still starting does not handle SIGTERM."""
        self._note_busy()
        for worker in [one for one in self.crew if one.pid in self._busy]:
            self._terminate(worker)
            self.crew.remove(worker)

    def _end(self) -> None:
        for worker in self.crew:
            worker.kill()
            worker.wait()
        self.client.close()
        self.server.kill()

    def _log(self) -> str:
        return (self.directory / "workers.log").read_text()[-2000:]

    def _until(self, what: str, true: Callable[[], bool], pause_s: float = PAUSE_S) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not true():
            if time.monotonic() > deadline_s:
                raise AssertionError(f"waited {PATIENCE_S} s, and not: {what}; {self._log()}")
            time.sleep(pause_s)
