"""Whether an entry is in a lake: from the table itself if it is local, else from its job's report.

    a report says     /data/lake has all of orders up to 1794900299019-0, its cut
    the table says    the same for now, which file has the entry, and that its row exists

An archiving job moves the cut of a stream in the commit that adds its files
(docs/internals/pipeline.md).  So an entry up to the cut is in the lake, and a later one is not yet.
A table is opened if it is a folder on this machine and ``deltalake`` is installed.  Its log selects
a few files by stream and time; only these are searched for the row.  A lake in a store or on
another machine is known from reports alone: otherwise any user who may write reports could send the
console anywhere.

archived      its row is in the table; by a report, it is not after the cut
not_yet       the job has not read this far
left_out      the job has, and the table has no such row: deleted before, or malformed
unknown       ``why`` says why
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from forebay.cli.remote.facts import id_key
from forebay.cli.remote.refusals import RefusedError
from forebay.errors import ForebayError
from forebay_console.asking.asked import Asked
from forebay_console.views.pipelines import note_lake, reports

if TYPE_CHECKING:
    from deltalake import DeltaTable

#: At most this many lakes are searched for one entry: those reported last.
MOST_LAKES = 5
#: A table of more files takes long to open; the report must do.
MOST_FILES = 20_000
#: At most this many files are read to find the row, and this many are named.
MOST_READ = 4
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CUT = "forebay:cut"
#: The property of an archive: its column of days, ``date`` or ``_date``.
DATE = "forebay.date"
LONGEST_ID = 41


class AwayError(ForebayError):
    """The console cannot read a table; the text says why."""


class Lake(NamedTuple):
    """A lake as its job last reported it."""

    path: str
    at_ms: int
    files: float | None
    #: How far it has each stream; None if the report does not say.
    cuts: Mapping[str, str] | None


def lakes(asked: Asked, entry_id: str) -> list[dict[str, Any]] | None:
    """Where an entry is in each lake of the stream; None if reports may not be seen."""
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
    """All lakes in reports, the last reported first."""
    found: dict[str, Lake] = {}
    for at_ms, told in reports(asked):
        if told.get("event") == "lake" and told.get("lake"):
            noted: list[dict[str, Any]] = []
            note_lake(noted, at_ms, told)
            path = noted[0]["path"]
            found[path] = Lake(path, at_ms, noted[0]["files"], cuts_of(told.get("cuts")))
    return sorted(found.values(), key=lambda one: -one.at_ms)


def cuts_of(text: str | None) -> dict[str, str] | None:
    """How far each stream is, from a report; its text is not trusted."""
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
    """The state by the job's report."""
    cut = (lake.cuts or {}).get(stream)
    if cut is None:
        why = f"{away}, and its job did not report how far it is"
        return {"by": "report", "state": "unknown", "cut": None, "why": why}
    state = "archived" if id_key(entry_id) <= id_key(cut) else "not_yet"
    return {"by": "report", "state": state, "cut": cut}


def by_table(lake: Lake, stream: str, entry_id: str) -> dict[str, Any] | None:
    """The state by the table, if it is local and can be opened; AwayError if not."""
    if not is_here(lake.path):
        raise AwayError("it is not a folder on the console's machine")
    if lake.files is None or lake.files > MOST_FILES:
        raise AwayError("it has too many files to open")
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise AwayError("deltalake is not installed with the console") from None
    try:
        return looked(DeltaTable(lake.path), stream, entry_id)
    except Exception:  # noqa: BLE001 - the row reader raises nothing more specific
        raise AwayError("it cannot be read") from None


def is_here(path: str) -> bool:
    """Whether a path of a report is a table on this machine; the path is not trusted."""
    try:
        return Path(path).is_absolute() and (Path(path) / "_delta_log").is_dir()
    except OSError:
        return False


def looked(table: DeltaTable, stream: str, entry_id: str) -> dict[str, Any] | None:
    """The state of an entry in a table; None if its stream was never archived there."""
    halves = [table.transaction_version(f"{CUT}:{half}:{stream}") for half in ("ms", "seq")]
    if None in halves:
        return None
    ms, seq = ((half or 0) % (1 << 64) for half in halves)  # the log has them signed
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
    """Files that may have the entry, by the log; None if its time is later than any date."""
    try:
        moment = EPOCH + timedelta(milliseconds=id_key(entry_id)[0])
    except OverflowError:
        return None
    asked = [(f"{mark}stream", "=", stream), (f"{mark}timestamp", "=", moment)]
    root = table.table_uri.removeprefix("file://")  # spelled as the library spells its files
    return sorted(path.removeprefix(root) for path in table.file_uris(file_pruning_predicate=asked))


def has_row(table: DeltaTable, mark: str, stream: str, entry_id: str) -> bool:
    """Whether the row exists; files and row groups of other times are skipped."""
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
