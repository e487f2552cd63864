"""R21: a server at its memory limit refuses writes that need more, with Redis's error text.

One attempt is one write to a full server; sizes and kinds vary.  It is refused with the exact
text or, for an XADD to a stream that is at its maximum length, done.  Resident memory stays
within the limit plus a quarter and 64 MB.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from reliability.goals import Outcome
from testkit.resp import RawClient, ReplyError, encode, parse
from testkit.servers import ServerProcess, start_forebay
from testkit.waiting import info_field

MIB = 1 << 20
LIMIT_MIB = 96
REFUSED = ReplyError("OOM command not allowed when used memory > 'maxmemory'.")
ROUND = 100
#: The stream that its writers keep short.
SHORT = 2000


def full_memory(n: int, seed: int, scratch: Path) -> Outcome:
    """R21: ``n`` writes to a server that is full."""
    outcome, dice = Outcome(), Random(seed)
    server = start_forebay(
        scratch / "server", "--appendonly", "no", "--maxmemory", f"{LIMIT_MIB}mb"
    )
    try:
        with server.client(timeout_s=120) as client:
            send(client, [short_entry(dice) for _ in range(SHORT)])
            fill(client, dice)
            most = 0
            while outcome.n < n:
                attack(client, dice, outcome)
                most = max(most, server.rss_bytes())
            judge(client, server, most, outcome)
    finally:
        server.stop()
    return outcome


def short_entry(dice: Random) -> list[object]:
    """An entry for the stream that is kept short."""
    sign = dice.choice("=~")
    return ["XADD", "short", "MAXLEN", sign, SHORT, "*", "f", b"x" * dice.randrange(50, 150)]


def any_write(dice: Random) -> list[object]:
    """A write that needs memory, of any size."""
    value = b"x" * dice.choice([1, 100, 5_000, 100_000])
    key = f"k{dice.randrange(1_000_000)}"
    return dice.choice(
        [
            ["SET", key, value],
            ["XADD", "long", "*", "f", value],
            ["XADD", "long", "MAXLEN", "~", 10**9, "*", "f", value],
            ["RPUSH", "list", value],
            ["SADD", "set", value + key.encode()],
            ["APPEND", key, value],
        ]
    )


def send(client: RawClient, commands: list[list[object]]) -> list[object]:
    """The replies to a pipeline."""
    client.send(b"".join(encode(*words) for words in commands))  # type: ignore[arg-type]
    return [parse(reply) for reply in client.read_many(len(commands))]


def fill(client: RawClient, dice: Random) -> None:
    """Write until the server refuses, with any error; a few times the limit at most."""
    for _ in range(2 * LIMIT_MIB):
        replies = send(client, [any_write(dice) for _ in range(ROUND)])
        if any(isinstance(reply, ReplyError) for reply in replies):
            break


def attack(client: RawClient, dice: Random, outcome: Outcome) -> None:
    """A round of writes of both kinds; then some data is deleted, as on a busy server."""
    for words, reply in zip(
        commands := [any_write(dice) for _ in range(ROUND)], send(client, commands), strict=True
    ):
        outcome.n += 1
        if isinstance(reply, ReplyError):
            outcome.count("refused")
            if reply != REFUSED:
                outcome.failures.append(f"{words[0]} was refused with {reply!r}")
    for reply in send(client, [short_entry(dice) for _ in range(ROUND)]):
        outcome.n += 1
        if isinstance(reply, ReplyError):
            outcome.failures.append(f"an XADD that trims was refused with {reply!r}")
        else:
            outcome.count("exchanged")
    if dice.random() < 0.2:
        send(client, [["XTRIM", "long", "MAXLEN", "0"]])


def judge(client: RawClient, server: ServerProcess, most: int, outcome: Outcome) -> None:
    """Note the figures, and what is wrong with them."""
    allowed = LIMIT_MIB * MIB * 1.25 + 64 * MIB
    outcome.figures |= {"most_rss_mb": round(most / 1e6), "allowed_mb": round(allowed / 1e6)}
    if most > allowed:
        outcome.failures.append(f"resident memory was {most >> 20} MiB")
    length = client("XLEN", "short")
    if length > SHORT + 100:
        outcome.failures.append(f"the stream that is kept short has {length} entries")
    if client("PING") != "PONG" or info_field(client, "maxmemory") != LIMIT_MIB * MIB:
        outcome.failures.append("the server does not answer as before")
