"""Entries in files: NDJSON keeps every bit, CSV is for tables.

    {"id": "1-0", "fields": {"item": "tea"}}     NDJSON: fields as ``range --json`` prints them

    id,item,price,_more            CSV: a column for each name of the first entries
    1-0,tea,3.20,                  an empty cell: the entry has no such field
    2-0,milk,,[[note, <empty>]]    fields without a column are in _more, as pairs in JSON

A later copy appends after the last line of the file; if that line is incomplete, it is removed
first.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Protocol

from forebay.cli.output import json_of
from forebay.cli.streams.entries import Entry, fields_json
from forebay.cli.streams.json_fields import BadLineError, fields_of, is_entry, parsed_line
from forebay.errors import ForebayError

NDJSON, CSV = "ndjson", "csv"
SUFFIXES = {".ndjson": NDJSON, ".jsonl": NDJSON, ".csv": CSV}
PIPE = "-"
ID, MORE = "id", "_more"
#: The names in this many entries become columns.
LOOK_AT = 1000
#: No line of ours is longer; the end of a file is read this far back.
LONGEST_LINE = 1 << 30


class FileError(ForebayError):
    """A file that cannot be read, written or understood."""


def format_of(word: str) -> str | None:
    """How a file is written, by its name; None for the name of a stream."""
    return SUFFIXES.get(Path(word).suffix.lower())


class Writer(Protocol):
    """Writes entries, a page at a time."""

    def write(self, page: Iterable[Entry]) -> None: ...


class NdjsonWriter:
    """One object per line."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, page: Iterable[Entry]) -> None:
        """One page."""
        for entry_id, words in page:
            line = {ID: entry_id.decode(), "fields": fields_json(words)}
            self.file.write(json.dumps(line, ensure_ascii=False) + "\n")


class CsvWriter:
    """One row per entry; the first page, or the existing file, sets the columns."""

    def __init__(self, file: IO[str], columns: list[str] | None = None) -> None:
        self.rows = csv.writer(file, lineterminator="\n")
        self.columns = columns

    def write(self, page: Iterable[Entry]) -> None:
        """One page."""
        listed = list(page)
        if self.columns is None:
            self.columns = columns_of(listed)
            self.rows.writerow([ID, *self.columns, MORE])
        places = {name: at for at, name in enumerate(self.columns)}
        self.rows.writerows(row_of(entry, places) for entry in listed)


def columns_of(entries: list[Entry]) -> list[str]:
    """The names of fields, in order of appearance."""
    names: dict[str, None] = {}
    for _, words in entries[:LOOK_AT]:
        found = [json_of(name) for name in words[::2]]
        names.update((name, None) for name in found if isinstance(name, str))
    return [name for name in names if name not in (ID, MORE)]


def row_of(entry: Entry, places: dict[str, int]) -> list[str]:
    """The cells of an entry; fields without a column go into the last cell, as JSON."""
    entry_id, words = entry
    cells = [""] * len(places)
    more: list[list[Any]] = []
    for name, value in zip(words[::2], words[1::2], strict=True):
        name_json, value_json = json_of(name), json_of(value)
        at = places.get(name_json) if isinstance(name_json, str) else None
        if at is None or cells[at] or not value or not isinstance(value_json, str):
            more.append([name_json, value_json])
        else:
            cells[at] = value_json
    return [entry_id.decode(), *cells, json.dumps(more, ensure_ascii=False) if more else ""]


# Reading

#: An entry from a file; without an ID the server makes one.
Found = tuple[bytes | None, list[bytes]]


def read_entries(file: IO[str], kind: str) -> Iterator[Found]:
    """The entries of a file; FileError names the line that is wrong."""
    lines = Counted(file)
    try:
        if kind == CSV:
            yield from csv_entries(lines)
        else:
            yield from (ndjson_entry(line) for line in lines if line.strip())
    except (BadLineError, csv.Error, UnicodeDecodeError) as error:
        raise FileError(f"line {max(1, lines.number)} of {file.name}: {error}") from None


class Counted:
    """The lines of a file, counted."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for line in self.file:
            self.number += 1
            yield line


def ndjson_entry(line: str) -> Found:
    """One line of NDJSON: an entry with its ID, or fields."""
    found = parsed_line(line)
    if is_entry(found):
        return found["id"].encode(), fields_of(found["fields"])
    return None, fields_of(found)


def csv_entries(lines: Iterable[str]) -> Iterator[Found]:
    """The rows of a CSV file."""
    csv.field_size_limit(LONGEST_LINE)
    rows = csv.reader(lines)
    names = next(rows, [])
    if not names:
        return
    for cells in rows:
        if len(cells) != len(names):
            raise BadLineError(f"{len(cells)} cells where the first line has {len(names)}")
        yield csv_entry(dict(zip(names, cells, strict=True)))


def csv_entry(cells: dict[str, str]) -> Found:
    """One row."""
    entry_id = cells.pop(ID, "")
    more = cells.pop(MORE, "")
    pairs: list[Any] = [[name, value] for name, value in cells.items() if value]
    if more:
        try:
            pairs += json.loads(more)
        except (ValueError, TypeError):
            raise BadLineError(f"{MORE} holds no JSON") from None
    return (entry_id.encode() if entry_id else None), fields_of(pairs)


# Files


def open_to_read(word: str) -> IO[str]:
    """A file, or standard input."""
    if word == PIPE:
        return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", newline="")
    try:
        return Path(word).open(encoding="utf-8", newline="")
    except OSError as error:
        raise FileError(f"cannot read {word}: {error.strerror}") from None


def open_to_append(word: str) -> IO[str]:
    """A file to write to at its end, or standard output."""
    if word == PIPE:
        return sys.stdout
    try:
        drop_half_line(Path(word))
        return Path(word).open("a", encoding="utf-8", newline="")
    except OSError as error:
        raise FileError(f"cannot write {word}: {error.strerror}") from None


def drop_half_line(path: Path) -> None:
    """Cut off an incomplete last line: its writer was interrupted."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        file.seek(0, io.SEEK_END)
        at = file.tell()
        while at > 0:
            step = min(1 << 16, at)
            file.seek(at - step)
            data = file.read(step)
            found = data.rfind(b"\n")
            if found >= 0:
                file.truncate(at - step + found + 1)
                return
            at -= step
        file.truncate(0)


def last_entry(word: str, kind: str) -> tuple[Entry | None, list[str] | None]:
    """The last entry of an existing file, and the columns of a CSV file."""
    if word == PIPE or not Path(word).exists():
        return None, None
    columns, last = None, None
    with open_to_read(word) as file:
        if kind == CSV:
            names = next(csv.reader([file.readline()]), None)
            columns = [name for name in names if name not in (ID, MORE)] if names else None
            file.seek(0)
        for entry_id, words in read_entries(file, kind):
            if entry_id is None:
                raise FileError(f"{word} has entries without IDs: a copy cannot go on after them")
            last = (entry_id, words)
    return last, columns
