"""Hand back messages that this process will not handle: others need not wait for a lease.

    XNACK stream group SILENT IDS n id ... RETRYCOUNT starts             where the server has it
    XCLAIM stream group forebay:handed-back 0 id ... RETRYCOUNT starts JUSTID IDLE a-day

The server's own list (XPENDING) says which these are: it also has entries that were on their way to
us when we stopped reading.  The delivery of a message that no handler has started is not counted.
The second form makes entries idle for long, for a consumer that does not exist: then our own
consumer has nothing pending and can be removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay_workers.fetch.counts import begun_before, count
from forebay_workers.message import Message
from forebay_workers.servers.abilities import Abilities
from forebay_workers.servers.connect import Asks
from forebay_workers.servers.link import Command

#: The consumer of entries that were handed back, if the server has no XNACK.
NOBODY = "forebay:handed-back"
A_DAY_MS = 86_400_000
PAGE = 500


async def hand_back(
    link: Asks,
    stream: str,
    group: str,
    consumer: str,
    held: Mapping[bytes, Message],
    abilities: Abilities,
) -> int:
    """Hand back all pending entries of our consumer; return how many."""
    handed = 0
    while rows := await link.ask("XPENDING", stream, group, "-", "+", PAGE, consumer):
        commands = _commands(stream, group, rows, held, abilities)
        for reply in await link.ask_all(commands):
            if isinstance(reply, Exception):
                raise reply
        handed += len(rows)
    return handed


def _commands(
    stream: str, group: str, rows: Any, held: Mapping[bytes, Message], abilities: Abilities
) -> list[Command]:
    by_starts: dict[int, list[bytes]] = {}
    for key, _, _, delivered in rows:
        message = held.get(key)
        starts = begun_before(delivered, abilities) if message is None else _starts(message)
        by_starts.setdefault(starts, []).append(key)
    if abilities.xnack:
        return [
            ("XNACK", stream, group, "SILENT", "IDS", len(keys), *keys, "RETRYCOUNT", starts)
            for starts, keys in by_starts.items()
        ]
    return [
        (*count(stream, group, NOBODY, keys, starts), "IDLE", A_DAY_MS)
        for starts, keys in by_starts.items()
    ]


def _starts(message: Message) -> int:
    """How often a handler has started with it."""
    return message.attempt if message.is_running else message.starts


async def leave(link: Asks, stream: str, group: str, consumer: str) -> None:
    """Remove our consumer, unless it has pending entries: these would be lost with it."""
    if not await link.ask("XPENDING", stream, group, "-", "+", 1, consumer):
        await link.ask("XGROUP", "DELCONSUMER", stream, group, consumer)
