"""Where a copy begins: after the last ID of the target, if it is the same stream.

    source   1-0  2-0  3-0  4-0  5-0
    target   1-0  2-0  3-0               continues after 3-0
                       ===               its newest entry is in the source, with the same fields

A target that holds other entries is refused: its last ID would decide which entries are skipped.
"""

from __future__ import annotations

from forebay.cli.output import text_of
from forebay.cli.remote.facts import NO_ID, stream_facts
from forebay.cli.remote.link import Refusal
from forebay.cli.remote.refusals import refused
from forebay.cli.remote.server import Server
from forebay.cli.streams.entries import Entry
from forebay.errors import ForebayError


class OtherStreamError(ForebayError):
    """The target holds entries that are not those of the source."""


def start_in(source: Server, stream: bytes, target: Server, to: bytes, *, is_append: bool) -> str:
    """The ID after which to continue; 0-0 for a new target."""
    reply = target.link.ask("XINFO", "STREAM", to)
    if isinstance(reply, Refusal):
        if not reply.startswith("ERR no such key"):
            raise refused(target.link, ("XINFO", "STREAM", to), reply)
        return NO_ID
    facts = stream_facts(to, reply)
    if facts.newest_id is not None and not is_append:
        ((entry_id, words),) = target.ask("XRANGE", to, facts.newest_id, facts.newest_id)
        check_same(source, stream, (entry_id, words), f"{text_of(to)} at {target.address}")
    return facts.last_id


def check_same(source: Server, stream: bytes, newest: Entry, where: str) -> None:
    """The newest entry of a target must be one of the source."""
    entry_id = newest[0].decode()
    found = source.ask("XRANGE", stream, entry_id, entry_id)
    if found and found[0][1] == newest[1]:
        return
    reason = "has other fields" if found else "is not"
    raise OtherStreamError(
        f"{where} holds entries already, and its newest, {entry_id}, {reason} in "
        f"{text_of(stream)}: it is another stream, or the source was trimmed; --append copies "
        "what comes after it"
    )
