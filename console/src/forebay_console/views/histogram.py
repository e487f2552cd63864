"""How many entries a stream has over time, in bars.

A Forebay counts without reading entries (FB.SPLIT), so its bars are exact.  Elsewhere a short range
is counted, and a long one is estimated from the density of a few entries at the start of each bar.
``is_exact`` says which.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from forebay.cli.remote.facts import ms_of, stream_of
from forebay.cli.remote.link import Refusal
from forebay.cli.remote.server import Server
from forebay_console.asking.asked import Asked

BARS, MOST_BARS = 60, 240
COUNTED = 5_000
SAMPLED = 20


def histogram(asked: Asked) -> dict[str, Any]:
    """Bars between two times; for the whole stream if none are given."""
    facts = stream_of(asked.server, asked.stream)
    if facts.first_id is None or facts.newest_id is None:
        return {"start_ms": 0, "step_ms": 0, "bars": [], "is_exact": True}
    start_ms = asked.number("from_ms", ms_of(facts.first_id), 10**15)
    end_ms = max(start_ms + 1, asked.number("to_ms", ms_of(facts.newest_id) + 1, 10**15))
    bars = max(1, min(asked.number("bars", BARS, MOST_BARS), end_ms - start_ms))
    step_ms = -(-(end_ms - start_ms) // bars)
    # The last bar ends with the range, though it may be drawn a little wider.
    edges = [*range(start_ms, end_ms, step_ms), end_ms]
    counts, is_exact = counted(asked.server, asked.stream, edges, facts.length)
    return {"start_ms": start_ms, "step_ms": step_ms, "bars": counts, "is_exact": is_exact}


def counted(server: Server, stream: bytes, edges: list[int], length: int) -> tuple[list[int], bool]:
    """The number of entries between each two edges, and whether it is exact."""
    spans = list(pairwise(edges))
    first = server.link.ask("FB.SPLIT", stream, *ids(*spans[0]), 1)
    if not isinstance(first, Refusal):
        replies = server.ask_all([("FB.SPLIT", stream, *ids(*span), 1) for span in spans])
        return [sum(part[2] for part in reply) for reply in replies], True
    if length <= COUNTED:
        replies = server.ask_all([("XRANGE", stream, *ids(*span)) for span in spans])
        return [len(reply) for reply in replies], True
    asked = [("XRANGE", stream, *ids(*span), "COUNT", SAMPLED) for span in spans]
    return [
        estimated(reply, *span) for reply, span in zip(server.ask_all(asked), spans, strict=True)
    ], False


def ids(start_ms: int, end_ms: int) -> tuple[str, str]:
    """The bounds of a span of time."""
    return str(start_ms), f"({end_ms}-0"


def estimated(page: list[Any], start_ms: int, end_ms: int) -> int:
    """About how many entries a bar has, from the density of its first ones."""
    if len(page) < SAMPLED:
        return len(page)
    spanned_ms = max(1, ms_of(page[-1][0].decode()) - start_ms)
    return round(len(page) * (end_ms - start_ms) / spanned_ms)
