"""The commands in an AOF, as the tools see them: words and keys."""

from __future__ import annotations

from collections.abc import Iterator

from forebay.commands.table import TABLE
from forebay.errors import CommandError
from forebay.persistence.aof.loader import AofReader


def commands_in(reader: AofReader) -> Iterator[tuple[int, list[bytes]]]:
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
    """The keys that a command names; for an unknown command, its first argument."""
    row = TABLE.get(words[0].lower())
    if row is not None and row.is_container and len(words) > 1:
        row = row.subcommands.get(words[1].lower())
    if row is None:
        return words[1:2]
    try:
        return [words[place] for place in row.keys.positions(words)]
    except (CommandError, IndexError):
        return []
