"""A client that asks PING all the time, in a thread: what others do to it shows in its waits."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from testkit.servers import ServerProcess

PAUSE_S = 0.001


class Pings:
    """``with Pings(server) as pings: ...``; then ``pings.p99_ms()`` and ``pings.worst_ms()``."""

    def __init__(self, server: ServerProcess) -> None:
        self.client = server.client(timeout_s=120)
        self.times_s: list[float] = []
        self.fault = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Pings:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self.client.close()

    def _run(self) -> None:
        try:
            while not self._stop.wait(PAUSE_S):
                begin = time.monotonic()
                reply = self.client("PING")
                self.times_s.append(time.monotonic() - begin)
                if reply != "PONG":
                    self.fault = f"PING was answered {reply!r}"
                    return
        except (OSError, EOFError) as error:
            self.fault = f"PING was not answered: {error}"

    def p99_ms(self) -> float:
        """Of a hundred, the second longest wait."""
        times = sorted(self.times_s)
        return round(1000 * times[len(times) * 99 // 100], 2) if times else 0.0

    def worst_ms(self) -> float:
        """The longest wait."""
        return round(1000 * max(self.times_s, default=0.0), 1)


def quiet_p99_ms(server: ServerProcess, seconds: float) -> float:
    """The same while nobody else does anything: what the machine itself costs."""
    with Pings(server) as pings:
        time.sleep(seconds)
    return pings.p99_ms()
