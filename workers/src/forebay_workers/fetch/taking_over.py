"""What is pending in a partition belongs to its owner, in whosever name it is.

    owner A        reads 1 2 3, has done 1, is killed                 pending: 2 3 (A)
    owner B        lists what is pending, claims 2 3, runs them       and only then reads 4 ...

In a partition nobody looks at idle times: the owner of the partition is the owner of all of it.

Late commands of an earlier owner do no harm, because B asks after every read whether anything is
pending in another name, and takes that first:

    A's read comes late     it got 4.  B gets 5, asks, finds 4, and runs 4 before 5.  A's read was
                            before B's, or it could not have got less than 5: so B always sees it.
    A's claim comes late    2 is in A's name again.  B has it in hand and goes on.
    A's ack comes late      A has handled 2 to its end.  If B has 2 in hand it runs again, in its
                            place; if not, 3 is the next, as it should be.
    A starts nothing        its lease has ended by its own clock (shares/owners.py).
"""

from __future__ import annotations

from collections.abc import Container

from forebay_workers.fetch.claiming import START, Claimer
from forebay_workers.message import Message
from forebay_workers.servers.connect import Asks

PAGE = 1000


async def has_strangers(link: Asks, stream: str, group: str, consumer: str) -> bool:
    """Whether something is pending in another name than ours, or in none."""
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
    """All that is pending and not in hand, in the order of IDs.

    ``unbegun``: what is in this name was on its way here, so that no handler has begun with it.
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
