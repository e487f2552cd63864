"""Add an entry, delete entries, trim; a preview shows what would be lost."""

from __future__ import annotations

import base64
from typing import Any

from forebay.cli.remote.facts import groups_of, stream_of
from forebay.cli.streams.trim import Loss, beyond, facts_of, need_of, older
from forebay_console.asking.asked import Asked, BadRequestError
from forebay_console.views.entries import checked

MOST_FIELDS = 1_000
MOST_IDS = 10_000


def add(asked: Asked) -> dict[str, Any]:
    """Append an entry: [[name, value], ...], where a value is text or {"base64": ...}."""
    words = fields_of(asked)
    entry_id = asked.body.get("id") or "*"
    if entry_id != "*":
        checked(str(entry_id))
    added = asked.server.ask("XADD", asked.stream, str(entry_id), *words)
    asked.poller.look_at([asked.stream])
    return {"id": added.decode()}


def fields_of(asked: Asked) -> list[bytes]:
    """The fields of a body as bytes."""
    pairs = asked.given("fields", list)
    if not pairs or len(pairs) > MOST_FIELDS:
        raise BadRequestError(f"an entry has 1 to {MOST_FIELDS} fields")
    words: list[bytes] = []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadRequestError("a field is a list of its name and its value")
        words += map(word, pair)
    return words


def word(value: object) -> bytes:
    """A name or a value: text, or bytes as base64."""
    if isinstance(value, str):
        return value.encode()
    text = value.get("base64") if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        return str(value["text"]).encode()
    try:
        return base64.b64decode(text or "", validate=True) if isinstance(text, str) else _no(value)
    except ValueError:  # binascii.Error is one; a character outside of ASCII raises one too
        raise BadRequestError("a value is not valid base64") from None


def _no(value: object) -> bytes:
    raise BadRequestError(f"a value is text or base64, not {type(value).__name__}")


def delete(asked: Asked) -> dict[str, Any]:
    """Delete entries by their IDs."""
    ids = [checked(str(one)) for one in asked.given("ids", list)]
    if not 0 < len(ids) <= MOST_IDS:
        raise BadRequestError(f"give 1 to {MOST_IDS} IDs")
    return {"deleted": asked.server.ask("XDEL", asked.stream, *ids)}


def delete_preview(asked: Asked) -> dict[str, Any]:
    """Which of the entries exist, and in which groups they are pending."""
    ids = [checked(str(one)) for one in asked.given("ids", list)][:MOST_IDS]
    there = asked.server.ask_all([("XRANGE", asked.stream, one, one) for one in ids])
    pending = []
    for group in groups_of(asked.server, asked.stream):
        if group.pending:
            asks = [("XPENDING", asked.stream, group.name, one, one, 1) for one in ids]
            count = sum(len(rows) for rows in asked.server.ask_all(asks))
            if count:
                pending.append({"group": group.name.decode("utf-8", "replace"), "pending": count})
    return {"there": sum(1 for page in there if page), "asked": len(ids), "pending": pending}


def trim_preview(asked: Asked) -> dict[str, Any]:
    """What a trim would remove, and which groups still need it."""
    return preview_of(asked)[1]


def trim(asked: Asked) -> dict[str, Any]:
    """Remove the oldest entries: {"maxlen": n} or {"before": ID}."""
    loss, _ = preview_of(asked)
    if not loss.count:
        return {"removed": 0}
    return {"removed": asked.server.ask("XTRIM", asked.stream, "MINID", loss.kept_from)}


def preview_of(asked: Asked) -> tuple[Loss, dict[str, Any]]:
    """The loss, and the same for the page."""
    facts = stream_of(asked.server, asked.stream)
    maxlen, before = asked.body.get("maxlen"), asked.body.get("before")
    if isinstance(maxlen, int) and maxlen >= 0 and before is None:
        loss = beyond(asked.server, facts, maxlen)
    elif isinstance(before, str) and maxlen is None:
        loss = older(asked.server, facts, checked(before))
    else:
        raise BadRequestError('give {"maxlen": number} or {"before": ID}')
    needed = [need_of(asked.server, group, loss) for group in groups_of(asked.server, asked.stream)]
    return loss, facts_of(facts, loss, needed)
