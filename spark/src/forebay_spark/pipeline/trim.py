"""Which entries may be trimmed: archived, acknowledged by every group, and old enough.

    archived      ====================================| cut of the lake, and done for Spark
    group a       delivered ===================|
    group b       delivered ==========================|
    pending of b                         x                      not acknowledged
    keep          older than an hour ===================|
    may go        ======================|

Each bound can only grow between asking and trimming: a cut never goes back, and an acknowledged
entry does not become pending again.  So separate commands are enough, and an old answer is at
worst too careful.  The group that mirrors the archive job itself is left out, because the cut of
the lake is newer and decides.

A server does nothing else while it trims, so a long range is removed in slices:

    stream    [ node ][ node ][ node ][ node ][ node ]
    may go    ==============================|
    1         slices of whole nodes           (~)  cheap, the server finds their ends
    2                                 slices  (=)  of the rest, by IDs read from the server
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from forebay_spark import ids
from forebay_spark.errors import ServerError
from forebay_spark.ids import LAST, EntryId
from forebay_spark.servers.connect import Link, Server

#: How many entries one command may remove: some milliseconds of the server's time.
SLICE_ENTRIES = 10_000


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def safe_bound(
    link: Link, stream: str, archived: EntryId, own_group: str | None, oldest_kept_ms: int | None
) -> EntryId:
    """The newest entry that may be removed, with all before it."""
    bounds = [archived]
    if oldest_kept_ms is not None:
        bounds.append(EntryId(max(oldest_kept_ms, 0), 0).before())
    for reply in link.call("XINFO", "GROUPS", stream):
        group = _named(reply)
        if group[b"name"].decode("utf-8", "replace") == own_group:
            continue
        bounds.append(ids.parse(group[b"last-delivered-id"]))
        if group[b"pending"]:
            bounds.append(_before_pending(link, stream, group[b"name"]))
    return min(bounds)


def _named(reply: list[Any]) -> dict[bytes, Any]:
    return dict(zip(reply[0::2], reply[1::2], strict=True))


def _after(bound: EntryId) -> EntryId:
    return ids.from_number(min(bound.number + 1, LAST.number))


def _before_pending(link: Link, stream: str, group: bytes) -> EntryId:
    """The ID before the oldest pending entry; perhaps none is pending by now."""
    oldest = link.call("XPENDING", stream, group)[1]
    return LAST if oldest is None else ids.parse(oldest).before()


def trim_to(link: Link, stream: str, bound: EntryId) -> int:
    """Remove all entries up to ``bound``, a bounded number per call; return how many."""
    gone: int = _trim_whole_nodes(link, stream, bound)
    while True:
        # One more than a slice: if it exists, the next slice begins there.
        left = link.call("XRANGE", stream, "-", str(bound), "COUNT", SLICE_ENTRIES + 1)
        if not left:
            return gone
        is_last = len(left) <= SLICE_ENTRIES
        keep_from = _after(bound) if is_last else ids.parse(left[-1][0])
        gone += link.call("XTRIM", stream, "MINID", "=", str(keep_from))
        if is_last:
            return gone


def _trim_whole_nodes(link: Link, stream: str, bound: EntryId) -> int:
    """Remove whole nodes, which is cheap for the server; the node with the bound in it stays."""
    gone = 0
    while True:
        removed: int = link.call(
            "XTRIM", stream, "MINID", "~", str(_after(bound)), "LIMIT", SLICE_ENTRIES
        )
        if not removed:
            return gone
        gone += removed


def trim_streams(
    server: Server, bounds: Mapping[str, EntryId], own_group: str | None, oldest_kept_ms: int | None
) -> int:
    """Trim every stream as far as allowed; return how many entries were removed."""
    gone = 0
    for stream, archived in bounds.items():
        link = server.link(stream)
        try:
            bound = safe_bound(link, stream, archived, own_group, oldest_kept_ms)
            gone += trim_to(link, stream, bound)
        except ServerError as error:
            # The whole stream was deleted; the source reports it if that matters.
            if "no such key" not in str(error):
                raise
    return gone
