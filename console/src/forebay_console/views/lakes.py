"""Whether an entry is in a lake: by the table itself where it is here, else by what its job told.

    a report says     /data/lake has all of orders up to 1794900299019-0, its cut
    the table says    the same as of now, which file has the entry, and that its row is there

A job that archives moves the cut of a stream in the commit that adds its files
(docs/internals/pipeline.md).  So an entry up to the cut is in the lake, and one after it is not
yet.  A table is opened if it is a folder of this machine and ``deltalake`` is installed.  Its log
leaves few files, by their stream and their times; the row is asked for in these, never in the
others.  A lake in a store or on another machine is known by reports alone: whoever may write them
could otherwise send the console anywhere.

archived      its row is in the table; by a report, it is not after the cut
not_yet       the job has not come so far
left_out      the job has, and the table has no such row: deleted before, or of a wrong form
unknown       ``why`` says why
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forebay.cli.remote.facts import id_key
from forebay.cli.remote.server import RefusedError
from forebay.errors import ForebayError
from forebay_console.asking.asked import Asked
from forebay_console.views.pipelines import note_lake, reports

if TYPE_CHECKING:
    from deltalake import DeltaTable

#: So many lakes are looked into for one entry, those that were told of last.
MOST_LAKES = 5
#: A table of more files takes long to open; what was told of it must do.
MOST_FILES = 20_000
#: So many files may be read to find the row, and so many are named.
MOST_READ = 4
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CUT = "forebay:cut"
#: The property of an archive: its column of days, ``date`` or ``_date``.
DATE = "forebay.date"
LONGEST_ID = 41


class AwayError(ForebayError):
    """A table cannot be looked into from here; the text says why."""


class Lake(NamedTuple):
    """A lake as its job told of it last."""

    path: str
    at_ms: int
    files: float | None
    #: How far each stream is in it; None if that was not told.
    cuts: Mapping[str, str] | None


def lakes(asked: Asked, entry_id: str) -> list[dict[str, Any]] | None:
    """What each lake of the stream has of an entry; None if reports may not be seen."""
    try:
        stream = asked.stream.decode()
        known = told_lakes(asked)
    except UnicodeDecodeError:
        return []
    except RefusedError:
        return None
    mine = [one for one in known if one.cuts is None or stream in one.cuts]
    found = (place(one, stream, entry_id) for one in mine[:MOST_LAKES])
    return [one for one in found if one is not None]


def told_lakes(asked: Asked) -> list[Lake]:
    """All lakes that jobs told of, the last first."""
    found: dict[str, Lake] = {}
    for at_ms, told in reports(asked):
        if told.get("event") == "lake" and told.get("lake"):
            noted: list[dict[str, Any]] = []
            note_lake(noted, at_ms, told)
            path = noted[0]["path"]
            found[path] = Lake(path, at_ms, noted[0]["files"], cuts_of(told.get("cuts")))
    return sorted(found.values(), key=lambda one: -one.at_ms)


def cuts_of(text: str | None) -> dict[str, str] | None:
    """How far each stream is, as a report says it; anybody may have written it."""
    try:
        told = json.loads(text or "null")
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    return {stream: str(cut) for stream, cut in told.items() if is_id(str(cut))}


def is_id(text: str) -> bool:
    """Whether this is an ID as a server writes it."""
    halves = text.split("-")
    return (
        len(text) <= LONGEST_ID
        and len(halves) == 2
        and all(half.isascii() and half.isdecimal() for half in halves)
    )


def place(lake: Lake, stream: str, entry_id: str) -> dict[str, Any] | None:
    """Where an entry is in one lake; None if the lake has nothing of its stream."""
    try:
        found = by_table(lake, stream, entry_id)
    except AwayError as away:
        found = by_report(lake, stream, entry_id, str(away))
    return found and {"path": lake.path, "at_ms": lake.at_ms, "files": [], "why": None, **found}


def by_report(lake: Lake, stream: str, entry_id: str, away: str) -> dict[str, Any]:
    """What the job has told."""
    cut = (lake.cuts or {}).get(stream)
    if cut is None:
        why = f"{away}, and its job did not tell how far it is"
        return {"by": "report", "state": "unknown", "cut": None, "why": why}
    state = "archived" if id_key(entry_id) <= id_key(cut) else "not_yet"
    return {"by": "report", "state": state, "cut": cut}


def by_table(lake: Lake, stream: str, entry_id: str) -> dict[str, Any] | None:
    """What the table says, if it is here and can be opened; AwayError if not."""
    if not is_here(lake.path):
        raise AwayError("it is no folder of the console's machine")
    if lake.files is None or lake.files > MOST_FILES:
        raise AwayError("it has too many files to be opened for this")
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise AwayError("deltalake is not installed beside the console") from None
    try:
        return looked(DeltaTable(lake.path), stream, entry_id)
    except Exception:  # noqa: BLE001 - what reads rows raises nothing more special
        raise AwayError("it cannot be read") from None


def is_here(path: str) -> bool:
    """Whether a path of a report is a table of this machine; anything may stand there."""
    try:
        return Path(path).is_absolute() and (Path(path) / "_delta_log").is_dir()
    except OSError:
        return False


def looked(table: DeltaTable, stream: str, entry_id: str) -> dict[str, Any] | None:
    """What a table has of an entry; None if nothing of its stream was ever archived there."""
    halves = [table.transaction_version(f"{CUT}:{half}:{stream}") for half in ("ms", "seq")]
    if None in halves:
        return None
    ms, seq = ((half or 0) % (1 << 64) for half in halves)  # they are signed in the log
    cut = f"{ms}-{seq}"
    if id_key(entry_id) > id_key(cut):
        return {"by": "table", "state": "not_yet", "cut": cut}
    mark = table.metadata().configuration.get(DATE, "").removesuffix("date")
    files = files_of(table, mark, stream, entry_id)
    if files is None or len(files) > MOST_READ:
        return {"by": "table", "state": "archived", "cut": cut}
    if not files or not has_row(table, mark, stream, entry_id):
        return {"by": "table", "state": "left_out", "cut": cut}
    return {"by": "table", "state": "archived", "cut": cut, "files": files}


def files_of(table: DeltaTable, mark: str, stream: str, entry_id: str) -> list[str] | None:
    """Files that may have the entry, by what the log says; None if its time is past all times."""
    try:
        moment = EPOCH + timedelta(milliseconds=id_key(entry_id)[0])
    except OverflowError:
        return None
    asked = [(f"{mark}stream", "=", stream), (f"{mark}timestamp", "=", moment)]
    root = table.table_uri.removeprefix("file://")  # spelled as the library spells its files
    return sorted(path.removeprefix(root) for path in table.file_uris(file_pruning_predicate=asked))


def has_row(table: DeltaTable, mark: str, stream: str, entry_id: str) -> bool:
    """Whether the row is there; files and row groups of other times are passed over."""
    from deltalake import QueryBuilder

    quoted = stream.replace("'", "''")
    ms, seq = id_key(entry_id)
    found = (
        QueryBuilder()
        .register("entries", table)
        .execute(
            f"SELECT 1 FROM entries WHERE {mark}stream = '{quoted}' AND {mark}id = '{ms}-{seq}' "
            f"AND {mark}timestamp = to_timestamp_millis({ms}) LIMIT 1"
        )
        .read_all()
    )
    return bool(found.num_rows)
