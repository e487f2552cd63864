"""Which files make up the AOF: the manifest, as Redis 7 writes and reads it.

    file appendonly.aof.3.base.rdb seq 3 type b
    file appendonly.aof.2.base.rdb seq 2 type h
    file appendonly.aof.7.incr.aof seq 7 type i
    file appendonly.aof.8.incr.aof seq 8 type i
    #CRC:1f00ab42

    b   base: all data up to a moment; at most one
    i   increments: later changes, in this order
    h   history: replaced files that will be deleted

Rules (Redis refuses a manifest that breaks them, and so do we)
  1. A line is pairs of a word and a value; ``file``, ``seq`` and ``type`` are
     required, unknown pairs are ignored.  Lines with # are comments.
  2. One base.  The increments' numbers rise.  A number is above 0.
  3. A file's name has no slash: the manifest names only files in its own folder.
  4. A name with blanks or quotes in it is written in double quotes.
  5. Ours end with a seal, the CRC-32 of all lines above; to Redis it is a comment.
     One flipped bit could turn an increment into history, or load one twice.  A
     manifest without a seal (a Redis wrote it) is accepted as it is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from forebay.errors import CorruptDataError
from forebay.persistence.aof import crc32
from forebay.persistence.aof.seals import SEAL_HEAD

BASE, HISTORY, INCREMENT = "b", "h", "i"
#: Redis does not read longer lines.
LONGEST_LINE = 1024
PLAIN = re.compile(rb"[^\s\"'\\\x00-\x1f\x7f]+")
WORD = re.compile(rb"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\')*)'|([^\s"']+))(?=\s|$)""")
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"a": b"\a"}
SUFFIXES = {"rdb": ".base.rdb", "aof": ".base.aof"}


class Entry(NamedTuple):
    """One file of the AOF."""

    name: str
    seq: int
    kind: str


class Manifest:
    """All files of the AOF, by type."""

    def __init__(self) -> None:
        self.base: Entry | None = None
        self.increments: list[Entry] = []
        self.history: list[Entry] = []
        #: The last numbers used; a number is never used twice.
        self.base_seq = 0
        self.increment_seq = 0

    def copy(self) -> Manifest:
        """A copy that can be changed while this one is still valid on disk."""
        new = Manifest()
        new.base = self.base
        new.increments, new.history = list(self.increments), list(self.history)
        new.base_seq, new.increment_seq = self.base_seq, self.increment_seq
        return new

    def loaded(self) -> list[Entry]:
        """The files that hold the data, in the order of loading."""
        return ([self.base] if self.base else []) + self.increments

    def last(self) -> Entry | None:
        """The increment that is written now."""
        return self.increments[-1] if self.increments else None

    def retire(self, entries: list[Entry]) -> None:
        """Mark these files as replaced."""
        self.history += [Entry(entry.name, entry.seq, HISTORY) for entry in entries]


def manifest_name(name: str) -> str:
    """The name of the manifest of an AOF."""
    return f"{name}.manifest"


def base_name(name: str, seq: int, kind: str) -> str:
    """The name of a base; kind is rdb or aof."""
    return f"{name}.{seq}{SUFFIXES[kind]}"


def increment_name(name: str, seq: int) -> str:
    """The name of an increment."""
    return f"{name}.{seq}.incr.aof"


def format_manifest(manifest: Manifest) -> bytes:
    """The text of a manifest."""
    entries = ([manifest.base] if manifest.base else []) + manifest.history + manifest.increments
    lines = [
        b"file %b seq %d type %b\n" % (quoted(entry.name), entry.seq, entry.kind.encode())
        for entry in entries
    ]
    text = b"".join(lines)
    return text + seal_of(text)


def seal_of(text: bytes) -> bytes:
    """The last line."""
    return b"#CRC:%08x\n" % crc32.checksum(text)


def quoted(name: str) -> bytes:
    """A name as written in the manifest."""
    raw = name.encode("utf-8", "surrogateescape")
    if PLAIN.fullmatch(raw):
        return raw
    text = b"".join(
        b"\\" + bytes([c]) if c in b'"\\' else bytes([c]) if 32 <= c < 127 else b"\\x%02x" % c
        for c in raw
    )
    return b'"%b"' % text


def parse_manifest(text: bytes, path: str) -> Manifest:
    """Read a manifest; CorruptDataError names the line."""
    manifest = Manifest()
    if text and not text.endswith(b"\n"):
        raise broken(path, text.count(b"\n") + 1, "the last line has no end")
    at = 0
    for number, line in enumerate(text.split(b"\n")[:-1], 1):
        above, at = text[:at], at + len(line) + 1
        if line.startswith(SEAL_HEAD) and line + b"\n" != seal_of(above):
            raise broken(
                path,
                number,
                "its checksum is not that of the lines above (edited by hand? then remove it)",
            )
        if line.startswith(b"#"):
            continue
        try:
            take_line(manifest, line)
        except ValueError as error:
            raise broken(path, number, str(error)) from None
    if not manifest.loaded() and not manifest.history:
        raise broken(path, 1, "no file is named")
    used = [entry.seq for entry in manifest.history]
    manifest.base_seq = max([manifest.base_seq, *used])
    manifest.increment_seq = max([manifest.increment_seq, *used])
    return manifest


def broken(path: str, line: int, reason: str) -> CorruptDataError:
    """The error for an unusable manifest."""
    return CorruptDataError(f"the manifest {path} is not usable: line {line}: {reason}")


def take_line(manifest: Manifest, line: bytes) -> None:
    """Add the file that a line names; ValueError says what is wrong."""
    entry = parse_entry(line)
    if entry.kind == BASE:
        if manifest.base is not None:
            raise ValueError("a second base")
        manifest.base = entry
        manifest.base_seq = entry.seq
    elif entry.kind == INCREMENT:
        if entry.seq <= manifest.increment_seq:
            raise ValueError("the numbers of the increments do not rise")
        manifest.increments.append(entry)
        manifest.increment_seq = entry.seq
    else:
        manifest.history.append(entry)


def parse_entry(line: bytes) -> Entry:
    """The file that a line names."""
    if len(line) > LONGEST_LINE:
        raise ValueError("too long")
    words = split_words(line)
    if len(words) < 6 or len(words) % 2:
        raise ValueError("not pairs of a word and a value: file, seq, type")
    values = {words[i].lower(): words[i + 1] for i in range(0, len(words), 2)}
    name = values.get(b"file", b"").decode("utf-8", "surrogateescape")
    seq = values.get(b"seq", b"")
    kind = values.get(b"type", b"").decode("ascii", "replace")
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise ValueError("no usable file name (only the name of a file beside the manifest is)")
    if not seq.isdigit() or len(seq) > 18 or int(seq) == 0:
        raise ValueError("seq is no number above 0")
    if kind not in (BASE, HISTORY, INCREMENT):
        raise ValueError("type is none of b, h, i")
    return Entry(name, int(seq), kind)


def split_words(line: bytes) -> list[bytes]:
    """The words of a line; quoted words without their quotes."""
    words, at = [], 0
    line = line.strip()
    while at < len(line):
        match = WORD.match(line, at)
        if match is None:
            raise ValueError("unbalanced quotes")
        double, single, plain = match.groups()
        if double is not None:
            words.append(ESCAPE.sub(lambda found: unescape(found.group(1)), double))
        elif single is not None:
            words.append(single.replace(b"\\'", b"'"))
        else:
            words.append(plain)
        at = match.end()
    return words


def unescape(code: bytes) -> bytes:
    """The meaning of a backslash and ``code``."""
    if len(code) == 3:
        return bytes([int(code[1:], 16)])
    return LETTERS.get(code, code)
