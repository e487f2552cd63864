"""Three real redis-sentinel processes that watch a set of nodes, and their events.

    with Sentinels(folder) as sentinels:
        sentinels.monitor("orders", primary.address)        SENTINEL MONITOR, at run time
        sentinels.wait_until_known("orders", replicas=2)
        mark = sentinels.mark()
        primary.kill()
        switch = sentinels.wait_for("+switch-master", mark)  the event, with its time

A thread for each Sentinel listens to everything it publishes.  An event comes from one Sentinel;
the same news arrives up to three times, once from each.

Sentinel pings every second, greets every two and reads INFO every ten, which makes a round of a
test half a minute long.  SENTINEL DEBUG shortens its periods (QUICK); its decisions and their
reasons stay the same.  ``down_after_ms`` is the only time that an operator would set too.

    ping-period      a replica whose INFO is older than five of them is not promoted, and while
                     the primary is down INFO is read once a second in any case: 300 is safe
    info-period      so short that Sentinel compares offsets from after the end of the primary
    publish-period   a node that wrongly says it is a primary is made a replica after four of
                     them

That last wait must be longer than news takes to reach a Sentinel.  Otherwise a Sentinel that was
cut off makes the *new* primary a replica of the old one.  With these periods TCP's own retries are
too slow.  So Sentinels must be where they are never cut off (``Network.safe_place``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from testkit.nodes import Address, Place, here
from testkit.oracle import find
from testkit.resp import RawClient, parse
from testkit.servers import ServerProcess
from testkit.waiting import wait_until

COUNT, QUORUM = 3, 2
DOWN_AFTER_MS = 800
#: If a failover does not finish, the next attempt begins after twice this time.
FAILOVER_TIMEOUT_MS = 2000
#: Periods in milliseconds, as SENTINEL DEBUG takes them.
QUICK = {"ping-period": 300, "ask-period": 100, "info-period": 200, "publish-period": 200}


@dataclass(frozen=True)
class Event:
    """What one Sentinel published, on the clock of this process."""

    at_s: float
    sentinel: int
    channel: str
    text: str


class Listener(threading.Thread):
    """Records the events of one Sentinel, until the connection ends."""

    def __init__(self, number: int, client: RawClient, tell: Callable[[Event], None]) -> None:
        super().__init__(daemon=True)
        self.number, self.client, self.tell = number, client, tell
        assert isinstance(client("PSUBSCRIBE", "*"), list)
        client.socket.settimeout(None)

    def run(self) -> None:
        """Listen until the Sentinel is gone."""
        try:
            while True:
                _, _, channel, text = parse(self.client.read())
                self.tell(Event(time.monotonic(), self.number, channel.decode(), text.decode()))
        except (OSError, EOFError, ValueError):
            return


class Sentinels:
    """Some Sentinels, started together; ``with`` ends them."""

    def __init__(self, folder: Path, places: Sequence[Place] = (), more: str = "") -> None:
        #: Lines for their configuration; {port} is the port of each.
        self.more = more
        self.processes: list[ServerProcess] = []
        #: The addresses where clients ask for the primary.
        self.addresses: list[Address] = []
        self.events: list[Event] = []
        self._news = threading.Condition()
        self._listeners: list[Listener] = []
        try:
            for number, place in enumerate(places or [here() for _ in range(COUNT)]):
                self._start(number, folder / f"sentinel-{number}", place)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Sentinels:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self, number: int, folder: Path, place: Place) -> None:
        folder.mkdir(parents=True)
        config = folder / "sentinel.conf"
        config.write_text(
            f"port {place.port}\nbind {place.bind}\nprotected-mode no\n"
            f"unixsocket {folder / 'sock'}\ndir {folder}\n" + self.more.format(port=place.port)
        )
        command = [*place.prefix, find("redis-sentinel"), str(config)]
        server = ServerProcess("redis-sentinel", command, folder, place.port)
        self.processes.append(server)
        self.addresses.append(place.address)
        for name, value in QUICK.items():
            self.ask(number, "SENTINEL", "DEBUG", name, value)
        listener = Listener(number, server.client(unix=True), self._tell)
        self._listeners.append(listener)
        listener.start()

    def close(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
        for listener in self._listeners:
            listener.join()
            listener.client.close()

    # -- questions and orders -------------------------------------------------------

    def ask(self, number: int, *words: str | int) -> Any:
        """One command to one Sentinel; an error is raised."""
        with self.processes[number].client(unix=True) as client:
            return client.insist(*words)

    def monitor(
        self,
        name: str,
        primary: Address,
        *,
        down_after_ms: int = DOWN_AFTER_MS,
        quorum: int = QUORUM,
    ) -> None:
        """Let all of them watch a primary; they find its replicas and each other by themselves."""
        for number in range(len(self.processes)):
            self.ask(number, "SENTINEL", "MONITOR", name, *primary, quorum)
            times = ("down-after-milliseconds", down_after_ms)
            timeout = ("failover-timeout", FAILOVER_TIMEOUT_MS)
            self.ask(number, "SENTINEL", "SET", name, *times, *timeout)

    def forget(self, name: str) -> None:
        """Stop watching."""
        for number in range(len(self.processes)):
            self.ask(number, "SENTINEL", "REMOVE", name)

    def primary_of(self, name: str, number: int = 0) -> Address:
        """The address that this Sentinel gives to clients."""
        host, port = self.ask(number, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
        return host.decode(), int(port)

    def facts(self, name: str, number: int = 0) -> dict[str, str]:
        """The reply of SENTINEL MASTER."""
        return _named(self.ask(number, "SENTINEL", "MASTER", name))

    def replicas_of(self, name: str, number: int = 0) -> list[dict[str, str]]:
        """The reply of SENTINEL REPLICAS."""
        return [_named(line) for line in self.ask(number, "SENTINEL", "REPLICAS", name)]

    def sees(self, name: str, number: int, replicas: int) -> bool:
        """Whether one Sentinel knows all the others and sees this many healthy replicas, all of
        them linked to the primary that it knows."""
        facts = self.facts(name, number)
        if facts["flags"] != "master" or int(facts["num-other-sentinels"]) + 1 < COUNT:
            return False
        wanted = {"flags": "slave", "master-link-status": "ok", "master-host": facts["ip"]}
        wanted["master-port"] = facts["port"]
        seen = self.replicas_of(name, number)
        healthy = [line for line in seen if wanted.items() <= line.items()]
        return len(healthy) == len(seen) == replicas

    def wait_until_known(self, name: str, replicas: int, patience_s: float = 60.0) -> None:
        """Wait until all Sentinels agree on the primary and see this many healthy replicas."""
        for number in range(len(self.processes)):
            what = f"sentinel {number} sees {replicas} replicas of {name}"
            wait_until(what, partial(self.sees, name, number, replicas), patience_s)
        addresses = {self.primary_of(name, n) for n in range(len(self.processes))}
        assert len(addresses) == 1, f"the Sentinels do not agree: {addresses}"

    # -- events ---------------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        with self._news:
            self.events.append(event)
            self._news.notify_all()

    def mark(self) -> int:
        """A place in the list of events, to ask for later ones."""
        with self._news:
            return len(self.events)

    def wait_for(
        self, channel: str, mark: int = 0, *, text: str = "", patience_s: float = 60.0
    ) -> Event:
        """The first event of this channel after the mark whose text contains ``text``."""

        def found() -> Event | None:
            fitting = (e for e in self.events[mark:] if e.channel == channel and text in e.text)
            return next(fitting, None)

        with self._news:
            if not self._news.wait_for(found, patience_s):
                raise AssertionError(f"no {channel} {text}in {patience_s} s; {self.tail()}")
            event = found()
        assert event is not None
        return event

    def switches_since(self, mark: int) -> int:
        """How many promotions there were after the mark; each Sentinel reports all of them."""
        with self._news:
            told = [e.sentinel for e in self.events[mark:] if e.channel == "+switch-master"]
        return max((told.count(number) for number in range(len(self.processes))), default=0)

    def tail(self, count: int = 20) -> str:
        """The last events, for a message."""
        return "\n".join(f"{e.sentinel} {e.channel} {e.text}" for e in self.events[-count:])


def _named(flat: list[bytes]) -> dict[str, str]:
    words = [word.decode() for word in flat]
    return dict(zip(words[::2], words[1::2], strict=True))
