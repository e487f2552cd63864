"""How long a message takes from XADD to a reader that waits for it in a group.

One process plays producer and consumers in a loop that never sleeps, so that the
client's own waking up is not measured.  Messages go out at a fixed rate, whatever
comes back (an open loop: a slow server does not slow down the producer).  Each has
its number as a field, and its time ends when a consumer's socket has delivered it.
Consumers acknowledge their messages and block again at once.

The client, in Python, is nearly busy at that rate: when it falls behind, messages wait for it
and the times say less about the server.  So the report also has the CPU time that the server
spends on a message, with its XADD, XREADGROUP and XACK.
"""

from __future__ import annotations

import re
import select
import time
from collections import Counter
from dataclasses import dataclass

from bench.load import connect
from bench.peers import Peer
from testkit.resp import NEED_MORE, encode, end_of_reply

KEY, GROUP = "race:live", "live"
MESSAGE = re.compile(rb"\r\n(\d+-\d+)\r\n\*2\r\n\$1\r\nn\r\n\$8\r\n(\d{8})\r\n")


@dataclass(frozen=True)
class Delivery:
    """The result of one run: the time of every message, and the server's CPU time for one."""

    times_us: list[float]
    cpu_us: float


class Waiting:
    """A consumer that is blocked in XREADGROUP, or about to read its reply."""

    def __init__(self, peer: Peer, name: str, count: int) -> None:
        self.sock = connect(peer)
        self.buffer = bytearray()
        self.read = encode(
            *("XREADGROUP", "GROUP", GROUP, name, "COUNT", count, "BLOCK", 0, "STREAMS", KEY, ">")
        )
        self.sock.send(self.read)

    def take(self) -> list[int]:
        """The numbers of the messages that arrived; acknowledges them and waits again."""
        self.buffer += self.sock.recv(1 << 18)
        numbers: list[int] = []
        while (end := end_of_reply(self.buffer)) != NEED_MORE:
            found = MESSAGE.findall(self.buffer, 0, end)
            del self.buffer[:end]
            if found:
                ack = encode("XACK", KEY, GROUP, *(entry_id for entry_id, _ in found))
                self.sock.send(ack + self.read)
                numbers += [int(number) for _, number in found]
        return numbers


def deliver(peer: Peer, seconds: float, consumers: int, count: int, rate: int = 10_000) -> Delivery:
    """Send messages at ``rate`` a second to blocked consumers, and wait for all of them."""
    peer.command("DEL", KEY)
    peer.command("XGROUP", "CREATE", KEY, GROUP, "$", "MKSTREAM")
    producer = connect(peer)
    waiting = [Waiting(peer, f"c{i}", count) for i in range(consumers)]
    by_fd = {w.sock.fileno(): w for w in waiting}
    epoll = select.epoll()
    for fd in (producer.fileno(), *by_fd):
        epoll.register(fd, select.EPOLLIN)
    head, _, tail = encode("XADD", KEY, "*", "n", "00000000").partition(b"00000000")
    total, sent, clock = int(rate * seconds), 0, time.perf_counter
    times: list[float] = []
    sent_at = [0.0] * total
    cpu_s, start = peer.cpu_s(), clock()
    while len(times) < total:
        due = min(total, int((clock() - start) * rate))
        while sent < due:
            sent_at[sent] = clock()
            producer.send(b"%b%08d%b" % (head, sent, tail))
            sent += 1
        for fd, _ in epoll.poll(0):
            reader = by_fd.get(fd)
            if reader is None:
                producer.recv(1 << 16)
                continue
            numbers, now = reader.take(), clock()
            times += [(now - sent_at[n]) * 1e6 for n in numbers]
    cpu_s = peer.cpu_s() - cpu_s
    epoll.close()
    for sock in (producer, *(w.sock for w in waiting)):
        sock.close()
    peer.command("DEL", KEY)
    return Delivery(times, cpu_s / total * 1e6)


def percentile(times: list[float], share: float) -> float:
    """The value that this share of the times stays below."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def histogram(times_us: list[float]) -> list[str]:
    """Buckets of one millisecond, in the words the Redis documentation uses."""
    buckets = Counter(int(t // 1000) for t in times_us)
    return [
        f"Processed between {ms} and {ms + 1} ms -> {100 * buckets[ms] / len(times_us):.2f}%"
        for ms in sorted(buckets)
    ]
