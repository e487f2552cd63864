"""A client that sends PING all the time: its waits show the effect of other clients.

    with Pings(server) as pings: ...      then pings.p99_ms(), due_p99_ms() and worst_ms()

It is a process of its own, because a thread would share the interpreter with the attackers and
wait for them too.  Its connection is new, and its first PING counts like any other.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from types import TracebackType

from testkit.resp import RawClient
from testkit.servers import ServerProcess

PAUSE_S = 0.001
PATIENCE_S = 120.0


class Pings:
    """The waits of that client, available after its end."""

    def __init__(self, server: ServerProcess) -> None:
        #: When each PING was sent, by the monotonic clock, and how long it took.
        self.times_s: list[tuple[float, float]] = []
        self.fault = ""
        self._since_s = 0.0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reliability.pings", str(server.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Pings:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"connected\n"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        told, _err = self._process.communicate(timeout=PATIENCE_S)
        self.times_s, self.fault = json.loads(told)

    def forget(self) -> None:
        """Drop the waits so far."""
        self._since_s = time.monotonic()

    def waits_ms(self) -> list[float]:
        """How long it waited each time, the shortest first."""
        return sorted(1000 * wait_s for at_s, wait_s in self.times_s if at_s >= self._since_s)

    def p99_ms(self) -> float:
        """The 99th percentile of the waits."""
        return p99(self.waits_ms())

    def due_p99_ms(self) -> float:
        """The same for a client that asks every millisecond without waiting for the last answer."""
        return p99(as_if_due(self.waits_ms()))

    def worst_ms(self) -> float:
        """The longest wait."""
        return round(max(self.waits_ms(), default=0.0), 1)


def p99(waits_ms: list[float]) -> float:
    """The 99th percentile."""
    return round(waits_ms[len(waits_ms) * 99 // 100], 2) if waits_ms else 0.0


def as_if_due(waits_ms: list[float]) -> list[float]:
    """These waits and those of PINGs that were due meanwhile, one every millisecond, sorted.

    A client that waits for half a second asks only once in that time, and counts one long wait:
    a server with one long stop would look better than one with several short stops.
    """
    return sorted(wait - late for wait in waits_ms for late in range(max(1, round(wait))))


def quiet_p99_ms(server: ServerProcess, seconds: float) -> float:
    """The same while no other client is active: the cost of the machine itself."""
    with Pings(server) as pings:
        time.sleep(seconds)
    return pings.p99_ms()


def ping_until_told(port: int) -> tuple[list[tuple[float, float]], str]:
    """Send PING until standard input ends; returns the waits, and what went wrong."""
    times_s: list[tuple[float, float]] = []
    try:
        with RawClient(("127.0.0.1", port), PATIENCE_S) as client:
            sys.stdout.write("connected\n")
            sys.stdout.flush()
            while not select.select([sys.stdin], [], [], PAUSE_S)[0]:
                begin_s = time.monotonic()
                reply = client("PING")
                times_s.append((begin_s, time.monotonic() - begin_s))
                if reply != "PONG":
                    return times_s, f"PING was answered {reply!r}"
    except (OSError, EOFError) as error:
        return times_s, f"PING was not answered: {error}"
    return times_s, ""


if __name__ == "__main__":
    sys.stdout.write(json.dumps(ping_until_told(int(sys.argv[1]))))
