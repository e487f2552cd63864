"""The table of all questions and actions: one row each, for the routes and the OpenAPI page.

    method  address                              function            what it does

``{stream}`` and ``{group}`` are names, percent-encoded.  A GET never changes anything; everything
else needs ``--write`` and the session's token, except previews, which change nothing either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forebay_console.actions import entries as entry_actions
from forebay_console.actions import groups as group_actions
from forebay_console.actions import imports
from forebay_console.actions import letters as letter_actions
from forebay_console.asking.asked import Asked
from forebay_console.views import entries, groups, histogram, letters, overview, pipelines, way
from forebay_console.views import server as server_view
from forebay_console.views import stream as stream_view
from forebay_console.web import schemas as look
from forebay_console.web.schemas import Schema, counted, one_of, partly, record

STREAM, GROUP, DEAD = "/streams/{stream}", "/streams/{stream}/groups/{group}", "/dead/{stream}"


@dataclass(frozen=True)
class Endpoint:
    """One row."""

    method: str
    path: str
    function: Callable[[Asked], Any]
    summary: str
    #: Its answer.
    answer: Schema
    #: Words that may follow the ?
    words: Mapping[str, Schema] = field(default_factory=dict)
    #: Its request body.
    body: Schema | None = None
    #: Whether it changes nothing although it is a POST.
    is_preview: bool = False
    #: Whether the page may follow it live: it is made of the board alone.
    is_live: bool = False

    @property
    def changes(self) -> bool:
        """Whether it needs --write."""
        return self.method != "GET" and not self.is_preview


Function = Callable[[Asked], Any]
Words = Mapping[str, Schema]
NO_WORDS: Words = {}


def get(
    path: str, function: Function, summary: str, answer: Schema, words: Words = NO_WORDS
) -> Endpoint:
    """A question."""
    return Endpoint("GET", path, function, summary, answer, words)


def live(
    path: str, function: Function, summary: str, answer: Schema, words: Words = NO_WORDS
) -> Endpoint:
    """A question whose answer changes by itself."""
    return Endpoint("GET", path, function, summary, answer, words, is_live=True)


def post(path: str, function: Function, summary: str, answer: Schema, body: Schema) -> Endpoint:
    """An action."""
    return Endpoint("POST", path, function, summary, answer, body=body)


def preview(path: str, function: Function, summary: str, answer: Schema, body: Schema) -> Endpoint:
    """What an action would do."""
    return Endpoint("POST", path, function, summary, answer, body=body, is_preview=True)


def most(number: int) -> Schema:
    """A number from 0 on; a larger one counts as the largest."""
    return {"type": "integer", "minimum": 0, "maximum": number}


TIMES = most(10**15)
FILTER = {"field": look.TEXT, "value": look.TEXT, "contains": one_of("", "1")}
RANGE = {"from": look.BOUND, "to": look.BOUND, "order": one_of("newest", "oldest")}
TRIM = {"anyOf": [record(maxlen=look.COUNT), record(before=look.ANY_ID)]}
NEW_GROUP = partly(
    "name",
    **{"name": look.TEXT, "from": {"anyOf": [one_of("start", "end"), look.ANY_ID]}},
)
CHOICE = {"anyOf": [record(kind=look.TEXT), record(all={"const": True})]}
RATE = {"type": "number", "exclusiveMinimum": 0}
PACED = {
    "anyOf": [
        partly("kind", kind=look.TEXT, rate=RATE),
        partly("all", all={"const": True}, rate=RATE),
    ]
}
NOTHING = record()
FILE = record(kind=one_of(*imports.KINDS), ids=one_of(*imports.IDS), text=look.TEXT)

ENDPOINTS = (
    live(
        *("/streams", overview.overview, "Streams: searched, sorted, a page of them", look.STREAMS),
        {
            "search": look.TEXT,
            "sort": one_of(*overview.SORTS),
            "order": one_of(*overview.ORDERS),
            "start": most(10**9),
            "count": most(overview.MOST),
        },
    ),
    live(STREAM, stream_view.stream, "One stream and its groups", look.STREAM),
    get(
        *(f"{STREAM}/entries", entries.entries, "Entries, newest or oldest first", look.ENTRIES),
        {**RANGE, "count": most(entries.MOST), **FILTER},
    ),
    get(
        *(f"{STREAM}/export", entries.export, "The same as the text of a file", look.EXPORT),
        {
            "kind": one_of("ndjson", "csv"),
            **RANGE,
            "count": most(entries.MOST_EXPORTED),
            **FILTER,
        },
    ),
    preview(
        f"{STREAM}/import-preview",
        imports.import_preview,
        "What an import would add",
        look.IMPORT_PREVIEW,
        FILE,
    ),
    post(
        *(f"{STREAM}/import", imports.import_entries, "Append the entries of a file"),
        *(counted("added"), FILE),
    ),
    get(f"{STREAM}/entries/{{id}}", entries.one_entry, "One entry, whole", look.ENTRY),
    get(f"{STREAM}/entries/{{id}}/way", way.way, "An entry in all groups and lakes", look.WAY),
    get(
        f"{STREAM}/histogram",
        histogram.histogram,
        "How many entries there are over time",
        look.HISTOGRAM,
        {"from_ms": TIMES, "to_ms": TIMES, "bars": most(histogram.MOST_BARS)},
    ),
    get(f"{STREAM}/pins", stream_view.pins, "What keeps the stream from being trimmed", look.PINS),
    post(
        *(f"{STREAM}/entries", entry_actions.add, "Append an entry", record(id=look.ID)),
        partly("fields", fields=look.FIELDS, id=look.ANY_ID),
    ),
    preview(
        f"{STREAM}/delete-preview",
        entry_actions.delete_preview,
        "What a delete would take",
        look.DELETE_PREVIEW,
        record(ids=look.IDS),
    ),
    post(
        *(f"{STREAM}/delete", entry_actions.delete, "Delete entries by ID", counted("deleted")),
        record(ids=look.IDS),
    ),
    preview(
        f"{STREAM}/trim-preview",
        entry_actions.trim_preview,
        "What a trim would remove",
        look.TRIM_PREVIEW,
        TRIM,
    ),
    post(
        f"{STREAM}/trim", entry_actions.trim, "Remove the oldest entries", counted("removed"), TRIM
    ),
    post(
        *(f"{STREAM}/groups", group_actions.create, "Create a group", record(created=look.TEXT)),
        NEW_GROUP,
    ),
    get(f"{GROUP}/consumers", groups.consumers, "The consumers of a group", look.CONSUMERS),
    get(
        *(f"{GROUP}/pending", groups.pending, "Pending entries, oldest first", look.PENDING),
        {
            "from": look.BOUND,
            "count": most(groups.MOST),
            "consumer": look.TEXT,
            "idle_ms": TIMES,
        },
    ),
    get(
        f"{GROUP}/pending-bars",
        groups.pending_bars,
        "Pending entries by age and by deliveries",
        look.PENDING_BARS,
    ),
    preview(
        *(
            f"{GROUP}/reset-preview",
            group_actions.reset_preview,
            "What a reset would do",
            look.RESET,
        ),
        record(to=look.PLACE),
    ),
    post(f"{GROUP}/reset", group_actions.reset, "Move a group", look.RESET, record(to=look.PLACE)),
    preview(
        f"{GROUP}/delete-preview",
        group_actions.delete_preview,
        "What deleting a group would lose",
        look.GROUP_LOSS,
        NOTHING,
    ),
    post(f"{GROUP}/delete", group_actions.delete, "Delete a group", counted("deleted"), NOTHING),
    post(
        f"{GROUP}/claim",
        group_actions.claim,
        "Give pending entries to another consumer",
        counted("claimed"),
        record(ids=look.IDS, to=look.TEXT),
    ),
    post(
        f"{GROUP}/acknowledge",
        group_actions.acknowledge,
        "Acknowledge pending entries",
        counted("acknowledged"),
        record(ids=look.IDS),
    ),
    post(
        f"{GROUP}/release",
        group_actions.release,
        "Release pending entries",
        counted("released"),
        record(ids=look.IDS),
    ),
    live("/dead", letters.places, "Dead-letter streams", look.PLACES),
    get(f"{DEAD}/kinds", letters.kinds, "Dead letters by kind of error", look.KINDS),
    get(
        *(f"{DEAD}/letters", letters.some_letters, "Dead letters", look.LETTERS),
        {"kind": look.TEXT, "to": look.BOUND, "count": most(letters.MOST)},
    ),
    get(
        f"{DEAD}/letters/{{id}}",
        letters.one_letter,
        "One letter, with its traceback",
        look.ONE_LETTER,
    ),
    post(
        f"{DEAD}/letters/{{id}}/redrive",
        letter_actions.redrive,
        "Send one letter back",
        record(sent=look.COUNT, to=look.TEXT),
        partly(fields=look.FIELDS),
    ),
    post(
        f"{DEAD}/redrive",
        letter_actions.redrive_all,
        "Send letters back, some per request",
        record(sent=look.COUNT, left=look.COUNT),
        PACED,
    ),
    post(
        *(f"{DEAD}/drop", letter_actions.drop, "Delete letters", counted("dropped")),
        {"anyOf": [*CHOICE["anyOf"], record(ids=look.IDS)]},
    ),
    get("/pipelines", pipelines.pipelines, "Pipelines on Spark, by their reports", look.PIPELINES),
    live("/server", server_view.server, "The state of the server", look.SERVER),
    get("/server/slow", server_view.slow_log, "Slow commands", look.SLOW),
    get("/server/settings", server_view.settings, "Settings", look.SETTINGS),
    get("/server/clients", server_view.clients, "Connections", look.CLIENTS),
)
