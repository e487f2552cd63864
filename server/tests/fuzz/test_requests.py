"""Garbage and near-garbage over a real socket: errors, never a crash or a traceback.

Structured requests are stream commands with any words in any place; mutations are
good requests with bytes flipped, cut, doubled and inserted.  After each batch the
server must still answer PING on a new connection, and its log must hold no
traceback (the fixture checks it when it stops the server).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from reliability.fuzz.mutations import mutated
from testkit.compat.scripts import ScriptWriter
from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess
from testkit.waiting import wait_until

pytestmark = pytest.mark.compiled

STRUCTURED = 60_000
MUTATIONS = 4_000
BATCH = 200
RSS_GROWTH_BYTES = 64 << 20

NUMBERS = [
    *("0", "1", "-1", "2", "10", "100000"),
    *(str((1 << bits) + d) for bits in (31, 32, 53, 63, 64) for d in (-1, 0, 1)),
    *("x", "", "1e3", "0x10", " 1", "1 ", "\r\n", "-OK\r\n", "\0", "9" * 200),
]
WORDS = """
    * $ > + - ~ = ( STREAMS COUNT BLOCK GROUP NOACK IDS CLAIM MAXCOUNT MAXSIZE MAXLEN MINID LIMIT
    NOMKSTREAM KEEPREF DELREF ACKED IDMP IDMPAUTO JUSTID FORCE RETRYCOUNT IDLE TIME LASTID FULL
    MKSTREAM ENTRIESREAD ENTRIESADDED MAXDELETEDID SILENT FAIL FATAL CREATE SETID DESTROY
    CREATECONSUMER DELCONSUMER STREAM GROUPS HELP IDMP-DURATION IDMP-MAXSIZE
    s1 s2 g1 alice 1-1 2-0 0-0 5 (1-1
""".split()
COMMANDS = """
    XADD XLEN XRANGE XREVRANGE XREAD XREADGROUP XGROUP XACK XACKDEL XNACK XPENDING XCLAIM
    XAUTOCLAIM XDEL XDELEX XTRIM XSETID XINFO XCFGSET XIDMPRECORD
""".split()


def structured(dice: Random, writer: ScriptWriter) -> bytes:
    """A stream command, sound or with words of any kind in any place."""
    if dice.random() < 0.5:
        words = dice.choice(writer.makers)()
    else:
        words = [dice.choice(COMMANDS)]
        words += [dice.choice(WORDS) for _ in range(dice.randint(1, 12))]
    for _ in range(dice.randrange(3)):
        words[dice.randrange(len(words))] = dice.choice(dice.choice((WORDS, NUMBERS)))
    if words[0].upper() in ("SHUTDOWN", "DEBUG", "MONITOR", "QUIT"):
        words[0] = "PING"
    return encode(*(_without_waiting(words)))


def _without_waiting(words: list[str]) -> list[str]:
    """No request may block for long: the time after BLOCK is short, or refused."""
    return [
        "1" if i and words[i - 1].upper() == "BLOCK" and word.lstrip("-").isdigit() else word
        for i, word in enumerate(words)
    ]


def still_answers(server: ServerProcess) -> bool:
    with server.client(unix=True) as client:
        answer: bool = client("PING") == "PONG"
        return answer


@pytest.mark.parametrize("protocol", [2, 3])
def test_any_words_in_any_place_get_exactly_one_reply(
    make_forebay: Callable[..., ServerProcess], protocol: int
) -> None:
    server, dice = make_forebay(), Random(protocol)
    before = server.rss_bytes()
    with server.client(unix=True) as client:
        client("HELLO", protocol)
        for batch in range(STRUCTURED // BATCH):
            writer = ScriptWriter(batch, deletes=True)
            requests = [structured(dice, writer) for _ in range(BATCH)]
            client.send(b"".join(requests) + encode("ECHO", f"end {batch}"))
            replies = client.read_many(BATCH + 1)
            assert replies[-1] == b"$%d\r\nend %d\r\n" % (len(f"end {batch}"), batch)
            assert not [r for r in replies if r[:1] in b"+-" and r.count(b"\n") > 1]
            if batch % 10 == 0:
                client("FLUSHALL")
    assert server.rss_bytes() - before < RSS_GROWTH_BYTES


def test_broken_bytes_hurt_nobody_but_their_own_connection(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server, dice = make_forebay(), Random(7)
    with server.client(unix=True) as witness:
        witness("XADD", "witness", "1-1", "a", "b")
        for number in range(MUTATIONS):
            writer = ScriptWriter(number, deletes=True)
            good = b"".join(structured(dice, writer) for _ in range(3))
            with server.client(unix=True, timeout_s=5) as victim:
                send_and_leave(victim, mutated(dice, good, [good]))
            if number % 100 == 0:
                assert witness("XLEN", "witness") in (0, 1)
    assert still_answers(server)


def send_and_leave(client: RawClient, data: bytes) -> None:
    """Send broken bytes and close; the server may close first."""
    try:
        client.send(data)
        client.socket.settimeout(0.001)
        client.socket.recv(65536)
    except (TimeoutError, ConnectionError):
        pass


def test_lengths_at_the_edges_of_their_types_are_refused(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay()
    for bits in (29, 31, 32, 63, 64):
        for delta in (-1, 0, 1):
            number = (1 << bits) + delta
            for head in (b"*%d\r\n" % number, b"*1\r\n$%d\r\n" % number, b"*-%d\r\n" % number):
                with server.client(unix=True) as client:
                    send_and_leave(client, head + b"x" * 100)
    assert still_answers(server)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 64, 1000, 100_000])
def test_any_number_of_ids_in_one_call(forebay_server: ServerProcess, count: int) -> None:
    ids = [f"{i}-1" for i in range(1, count + 1)]
    with forebay_server.client(unix=True) as client:
        client("XADD", "s", "1-1", "a", "b")
        client("XGROUP", "CREATE", "s", "g", "0")
        client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
        assert client("XCLAIM", "s", "g", "d", 0, *ids, "JUSTID") == [b"1-1"]
        assert client("XNACK", "s", "g", "FAIL", "IDS", count, *ids) == 1
        # Counted, not compared: pytest would explain two long lists for minutes.
        acked = client("XACKDEL", "s", "g", "IDS", count, *ids)
        assert (acked[0], acked.count(-1)) == (1, count - 1)
        assert client("XDELEX", "s", "IDS", count, *ids).count(-1) == count
        assert client("XACK", "s", "g", *ids) == 0
        assert client("XDEL", "s", *ids) == 0


def test_a_key_that_expires_at_the_end_of_time_does_not_stop_expiry(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    with make_forebay().client() as client:
        assert client("SET", "late", "v", "PXAT", (1 << 63) - 1) == "OK"
        for _ in range(3):
            assert client("SET", "soon", "v", "PX", 1) == "OK"
            wait_until("the other key to expire", lambda: client("DBSIZE") == 1)
