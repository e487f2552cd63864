"""The commands in a log, as the tools see them: words, keys, and names nobody knows here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from forebay.commands.table import TABLE
from forebay.errors import CommandError, CorruptDataError
from forebay.persistence.files import Disk
from forebay.persistence.log_load import LogPart, LogReader

#: Where a command may begin; a value may look like one, but no command looks otherwise.
NAME = re.compile(rb"\*[0-9]+\r\n\$[0-9]+\r\n([^\r\n]*)\r\n")


def commands_in(reader: LogReader) -> Iterator[tuple[int, list[bytes]]]:
    """The commands of a verified range, each with its place in the buffer."""
    buf, at = reader.buf, reader.start
    while at < reader.end:
        start = at
        line_end = buf.index(b"\r\n", at)
        count, at = int(buf[at + 1 : line_end]), line_end + 2
        words = []
        for _ in range(count):
            line_end = buf.index(b"\r\n", at)
            size, at = int(buf[at + 1 : line_end]), line_end + 2
            words.append(bytes(buf[at : at + size]))
            at += size + 2
        yield start, words


def keys_of(words: list[bytes]) -> list[bytes]:
    """The keys that a command names; of one we do not know, its first argument."""
    row = TABLE.get(words[0].lower())
    if row is not None and row.is_container and len(words) > 1:
        row = row.subcommands.get(words[1].lower())
    if row is None:
        return words[1:2]
    try:
        return [words[place] for place in row.keys.positions(words)]
    except (CommandError, IndexError):
        return []


def unknown_commands(disk: Disk, part: LogPart, start: int) -> dict[str, int]:
    """Commands from ``start`` on that this server does not have, up to the first damage:
    name -> how many."""
    counts: dict[str, int] = {}
    reader = LogReader(disk, part, start)
    try:
        while reader.next_range():
            if may_have_unknown(reader):
                count_unknown(reader, counts)
    except CorruptDataError:
        pass  # whoever verifies the file has told of it
    finally:
        reader.close()
    return counts


def may_have_unknown(reader: LogReader) -> bool:
    """A quick look at a range: whether anything in it looks like a command we do not have."""
    names = set(NAME.findall(bytes(reader.buf[reader.start : reader.end])))
    return any(name.lower() not in TABLE for name in names)


def count_unknown(reader: LogReader, counts: dict[str, int]) -> None:
    """A careful look at it."""
    for _, words in commands_in(reader):
        if words[0].lower() not in TABLE:
            name = words[0][:40].decode("ascii", "backslashreplace").upper()
            counts[name] = counts.get(name, 0) + 1
