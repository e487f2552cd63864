"""The table of all questions and deeds: one row each, for the routes and for the OpenAPI page.

    method  address                              function            what it does

``{stream}`` and ``{group}`` are names, percent-encoded.  A GET never changes anything; everything
else needs ``--write`` and the session's token, except previews, which change nothing either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forebay_console.asking.asked import Asked
from forebay_console.deeds import entries as entry_deeds
from forebay_console.deeds import groups as group_deeds
from forebay_console.deeds import letters as letter_deeds
from forebay_console.views import entries, groups, histogram, letters, overview, pipelines
from forebay_console.views import server as server_view
from forebay_console.views import stream as stream_view

STREAM, GROUP, DEAD = "/streams/{stream}", "/streams/{stream}/groups/{group}", "/dead/{stream}"


@dataclass(frozen=True)
class Endpoint:
    """One row."""

    method: str
    path: str
    function: Callable[[Asked], Any]
    summary: str
    #: Words that may stand after the ?
    words: tuple[str, ...] = ()
    #: Whether it changes nothing although it is a POST.
    is_preview: bool = False
    #: Whether the page may follow it live: it is made of the board alone.
    is_live: bool = False

    @property
    def changes(self) -> bool:
        """Whether it needs --write."""
        return self.method != "GET" and not self.is_preview


def get(path: str, function: Callable[[Asked], Any], summary: str, *words: str) -> Endpoint:
    """A question."""
    return Endpoint("GET", path, function, summary, words)


def live(path: str, function: Callable[[Asked], Any], summary: str, *words: str) -> Endpoint:
    """A question whose answer changes by itself."""
    return Endpoint("GET", path, function, summary, words, is_live=True)


def post(path: str, function: Callable[[Asked], Any], summary: str) -> Endpoint:
    """A deed."""
    return Endpoint("POST", path, function, summary)


def preview(path: str, function: Callable[[Asked], Any], summary: str) -> Endpoint:
    """What a deed would do."""
    return Endpoint("POST", path, function, summary, is_preview=True)


ENDPOINTS = (
    live(
        "/streams",
        overview.overview,
        "Streams: searched, sorted, a page of them",
        *("search", "sort", "order", "start", "count"),
    ),
    live(STREAM, stream_view.stream, "One stream and its groups"),
    get(
        f"{STREAM}/entries",
        entries.entries,
        "Entries, newest or oldest first",
        *("order", "from", "to", "count", "field", "value", "contains"),
    ),
    get(f"{STREAM}/entries/{{id}}", entries.one_entry, "One entry, whole"),
    get(
        f"{STREAM}/histogram",
        histogram.histogram,
        "How many entries there are over time",
        *("from_ms", "to_ms", "bars"),
    ),
    get(f"{STREAM}/pins", stream_view.pins, "What keeps the stream from being trimmed"),
    post(f"{STREAM}/entries", entry_deeds.add, "Append an entry"),
    preview(f"{STREAM}/delete-preview", entry_deeds.delete_preview, "What a delete would take"),
    post(f"{STREAM}/delete", entry_deeds.delete, "Delete entries by ID"),
    preview(f"{STREAM}/trim-preview", entry_deeds.trim_preview, "What a trim would remove"),
    post(f"{STREAM}/trim", entry_deeds.trim, "Remove the oldest entries"),
    post(f"{STREAM}/groups", group_deeds.create, "Create a group"),
    get(f"{GROUP}/consumers", groups.consumers, "The consumers of a group"),
    get(
        f"{GROUP}/pending",
        groups.pending,
        "Pending entries, oldest first",
        *("from", "count", "consumer", "idle_ms"),
    ),
    get(f"{GROUP}/pending-bars", groups.pending_bars, "Pending entries by age and by deliveries"),
    preview(f"{GROUP}/reset-preview", group_deeds.reset_preview, "What a reset would do"),
    post(f"{GROUP}/reset", group_deeds.reset, "Move a group"),
    preview(f"{GROUP}/delete-preview", group_deeds.delete_preview, "What is lost with a group"),
    post(f"{GROUP}/delete", group_deeds.delete, "Delete a group"),
    post(f"{GROUP}/claim", group_deeds.claim, "Give pending entries to another consumer"),
    post(f"{GROUP}/acknowledge", group_deeds.acknowledge, "Acknowledge pending entries"),
    post(f"{GROUP}/release", group_deeds.release, "Release pending entries"),
    live("/dead", letters.places, "Streams of dead letters"),
    get(f"{DEAD}/kinds", letters.kinds, "Dead letters by kind of error"),
    get(f"{DEAD}/letters", letters.some_letters, "Dead letters", "kind", "to", "count"),
    get(f"{DEAD}/letters/{{id}}", letters.one_letter, "One letter, with its traceback"),
    post(f"{DEAD}/letters/{{id}}/redrive", letter_deeds.redrive, "Send one letter back"),
    post(f"{DEAD}/redrive", letter_deeds.redrive_all, "Send letters back, a piece at a time"),
    post(f"{DEAD}/drop", letter_deeds.drop, "Delete letters"),
    get("/pipelines", pipelines.pipelines, "Pipelines on Spark, by their reports"),
    live("/server", server_view.server, "How the server is"),
    get("/server/slow", server_view.slow_log, "Slow commands"),
    get("/server/settings", server_view.settings, "Settings"),
    get("/server/clients", server_view.clients, "Connections"),
)
