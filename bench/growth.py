"""Does the cost stay flat as a stream grows, and how much memory does an entry take?

Costs are the server's CPU time per operation, which a busy machine disturbs less
than rates; memory is the resident size of a fresh server, divided by the number of
entries.
"""

from __future__ import annotations

from itertools import cycle, repeat

from bench.load import crowd, reply_size
from bench.peers import Peer
from bench.rows import F4, GROUP, deliver, entry_id, fill
from forebay.cli.watching.crowd import Expect
from testkit.resp import encode

KEY = b"race:growing"
PAGE = 10
#: At most this many are read from the longest streams: commands are built before the clock starts.
MOST_READ = 1_000_000


def memory_per_entry(peer: Peer, count: int) -> tuple[float, float]:
    """Bytes of resident memory for each entry, and for each entry that is pending."""
    fill(peer, b"race:warm", 1000)
    empty = peer.server.rss_bytes()
    fill(peer, KEY, count)
    full = peer.server.rss_bytes()
    peer.command("XGROUP", "CREATE", KEY, GROUP, "0")
    deliver(peer, KEY, count)
    return (full - empty) / count, (peer.server.rss_bytes() - full) / count


def cost_us(peer: Peer, size: int, seconds: float) -> dict[str, float]:
    """CPU microseconds per operation on a stream of ``size`` entries."""
    fill(peer, KEY, size)
    places = range(0, size - PAGE, max(1, size // 997))
    range_batches = [
        b"".join(encode("XRANGE", KEY, entry_id(p), "+", "COUNT", PAGE) for p in [place] * PAGE)
        for place in places
    ]
    expect = Expect(size=reply_size(peer, range_batches[0], PAGE))
    xrange = crowd(peer, PAGE, cycle(range_batches), expect, PAGE, seconds)
    xreadgroup = read_group_cost_us(peer, size, seconds)
    append = encode("XADD", KEY, "MAXLEN", "~", size, "*", *F4) * 16
    expect = Expect(marker=b"$", count=16)
    xadd = crowd(peer, PAGE, repeat(append), expect, 16, seconds)
    peer.command("DEL", KEY)
    return {
        "XADD MAXLEN ~": xadd.cpu_us,
        f"XRANGE {PAGE}": xrange.cpu_us,
        f"XREADGROUP {PAGE} + XACK": xreadgroup,
    }


def read_group_cost_us(peer: Peer, size: int, seconds: float) -> float:
    """A consumer reads its way through the stream, ten entries at a time, and acknowledges them."""
    peer.command("XGROUP", "CREATE", KEY, GROUP, "0")
    read = encode("XREADGROUP", "GROUP", GROUP, "a", "COUNT", PAGE, "STREAMS", KEY, ">")
    pages = [
        read + encode("XACK", KEY, GROUP, *(entry_id(at + i) for i in range(PAGE)))
        for at in range(PAGE, min(size, MOST_READ) - PAGE, PAGE)
    ]
    batches = (b"".join(pages[at : at + PAGE]) for at in range(0, len(pages) - PAGE, PAGE))
    size_of_page = reply_size(peer, read, 1) + len(b":%d\r\n" % PAGE)
    return crowd(peer, 1, batches, Expect(size=size_of_page * PAGE), PAGE, seconds).cpu_us
