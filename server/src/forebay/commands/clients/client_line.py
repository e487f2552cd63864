"""One line of CLIENT LIST: everything about a client as name=value."""

from __future__ import annotations

from forebay.commands.api import gates
from forebay.commands.api.session import Session
from forebay.commands.clients.tracking import redirect_of

# The approximate size of an empty session, its parser and its share of tables.
SESSION_BYTES = 1024
# The overhead of a name: a channel, a pattern, a watched key, a prefix.
NAME_BYTES = 100


def kind_of(session: Session) -> bytes:
    """The type of a client, as TYPE of CLIENT LIST and CLIENT KILL names it."""
    if session.is_primary:
        return b"master"
    if session.gate & gates.REPLICA:
        return b"replica"
    return b"pubsub" if session.subscriptions() else b"normal"


def flags_of(session: Session) -> bytes:
    """The letters of ``flags=``."""
    gate = session.gate
    letters = b"".join(
        letter
        for letter, on in (
            (b"M", session.is_primary),
            (b"S", gate & gates.REPLICA),
            (b"O", gate & gates.MONITORING),
            (b"P", session.subscriptions()),
            (b"x", gate & gates.IN_MULTI),
            (b"b", session.blocked is not None),
            (b"d", session.watch_broken),
            (b"t", session.tracked is not None),
            (b"R", session.tracked is not None and session.tracked.is_broken),
            (b"B", session.tracked is not None and session.tracked.bcast),
            (b"c", session.closing),
            (b"U", session.addr.startswith(b"/")),
            (b"e", session.no_evict),
            (b"T", session.no_touch),
        )
        if on
    )
    return letters or b"N"


def memory_of(session: Session) -> int:
    """The memory of a client: unprocessed input, unread output, and state kept for it."""
    names = [*session.channels, *session.patterns, *session.shard_channels]
    names += [key for _, key in session.watched]
    if session.tracked is not None:
        names += session.tracked.prefixes
    kept = sum(len(name) + NAME_BYTES for name in names) if names else 0
    sent_ahead = session.query_bytes + session.queue_bytes
    return SESSION_BYTES + session.out.room_bytes() + sent_ahead + kept


def line_of(session: Session, now_ms: int) -> bytes:
    """The line, with its end."""
    pending = session.out.pending()
    queued = -1 if session.queue is None else len(session.queue)
    fields: list[tuple[bytes, bytes | int]] = [
        (b"id", session.id),
        (b"addr", session.addr),
        (b"laddr", session.laddr),
        (b"fd", session.fd),
        (b"name", session.name),
        (b"age", (now_ms - session.created_ms) // 1000),
        (b"idle", (now_ms - session.active_ms) // 1000),
        (b"flags", flags_of(session)),
        (b"db", session.db.index),
        (b"sub", len(session.channels)),
        (b"psub", len(session.patterns)),
        (b"ssub", len(session.shard_channels)),
        (b"multi", queued),
        (b"watch", len(session.watched)),
        (b"qbuf", session.query_bytes),
        (b"qbuf-free", session.query_room),
        (b"argv-mem", 0),
        (b"multi-mem", session.queue_bytes),
        (b"rbs", session.out.cap),
        (b"rbp", pending),
        (b"obl", pending),
        (b"oll", 0),
        (b"omem", 0),
        (b"tot-mem", memory_of(session)),
        (b"events", b"rw" if pending else b"r"),
        (b"cmd", session.last.full_name if session.last is not None else b"NULL"),
        (b"user", session.user.name),
        (b"redir", redirect_of(session)),
        (b"resp", session.out.resp),
        (b"lib-name", session.lib_name),
        (b"lib-ver", session.lib_ver),
        (b"io-thread", 0),
        (b"tot-net-in", session.bytes_in),
        (b"tot-net-out", session.bytes_out),
        (b"tot-cmds", session.calls),
    ]
    return b" ".join(b"%b=%b" % (name, _text(value)) for name, value in fields) + b"\n"


def _text(value: bytes | int) -> bytes:
    return value if isinstance(value, bytes) else b"%d" % value
