"""The group of each stream: created when a worker starts, and again if it vanishes.

A vanished group is created again at the position of this process, so that no entry added meanwhile
is skipped.  If the stream itself is new (FLUSHALL), its IDs may start again: then the group starts
at its beginning.
"""

from __future__ import annotations

from redis.exceptions import ResponseError

from forebay_workers.servers.connect import Asks

BEGINNING = "0"


def id_key(entry_id: bytes) -> tuple[int, int]:
    """An ID as two numbers, which can be compared."""
    ms, _, sequence = entry_id.partition(b"-")
    return int(ms), int(sequence or 0)


async def ensure_group(link: Asks, stream: str, group: str, start: str) -> bool:
    """Create the group, and the stream if needed; whether the group is new."""
    try:
        await link.ask("XGROUP", "CREATE", stream, group, start, "MKSTREAM")
    except ResponseError as error:
        if not str(error).startswith("BUSYGROUP"):
            raise
        return False
    return True


async def remake_group(link: Asks, stream: str, group: str, seen: bytes | None, start: str) -> None:
    """Create a vanished group again; ``seen`` is the last ID that this process got."""
    place = start if seen is None else seen.decode()
    if seen is not None:
        (last,) = await link.ask_all([("XREVRANGE", stream, "+", "-", "COUNT", 1)])
        if isinstance(last, Exception) or not last or id_key(last[0][0]) < id_key(seen):
            place = BEGINNING
    await ensure_group(link, stream, group, place)
