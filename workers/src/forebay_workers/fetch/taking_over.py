"""All pending entries of a partition belong to its owner, whatever consumer they are pending for.

    owner A        reads 1 2 3, has done 1, is killed                 pending: 2 3 (A)
    owner B        lists pending entries, claims 2 3, runs them       and only then reads 4 ...

In a partition idle times do not matter: the owner of the partition owns all of its entries.

Late commands of an earlier owner do no harm: after every read B asks whether an entry is pending
for another consumer, and takes such entries first:

    A's read is late        it got 4.  B gets 5, asks, finds 4, and runs 4 before 5.  A's read was
                            before B's, or it could not have got less than 5: so B always sees it.
    A's claim is late       2 is A's again.  B already holds it and continues.
    A's ack is late         A has handled 2 to its end.  If B holds 2, it runs again, in its place;
                            if not, 3 is the next, as it should be.
    A starts nothing        its lease has ended by its own clock (shares/owners.py).
"""

from __future__ import annotations

from collections.abc import Container

from forebay_workers.fetch.claiming import START, Claimer
from forebay_workers.message import Message
from forebay_workers.servers.connect import Asks

PAGE = 1000


async def has_strangers(link: Asks, stream: str, group: str, consumer: str) -> bool:
    """Whether an entry is pending for another consumer, or for none."""
    total, _, _, rows = await link.ask("XPENDING", stream, group)
    me = consumer.encode()
    mine = sum(int(count) for name, count in rows or () if name == me)
    return bool(total != mine)


async def take_over(
    link: Asks,
    claimer: Claimer,
    stream: str,
    group: str,
    held: Container[bytes],
    unbegun: bytes | None = None,
) -> list[Message]:
    """All pending entries that we do not hold, in the order of IDs.

    ``unbegun``: entries of this consumer were on their way here: no handler has started with them.
    """
    found: list[Message] = []
    after = START
    while rows := await link.ask("XPENDING", stream, group, after, "+", PAGE):
        after = f"({rows[-1][0].decode()}"
        wanted = [
            (key, name, idle_ms, max(0, count - (name == unbegun)))
            for key, name, idle_ms, count in rows
            if key not in held
        ]
        found += await claimer.take(stream, wanted, 0)
    return found
