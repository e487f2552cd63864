"""The syntax of redis.conf: lines, quotes, comments and include.

    # a comment
    maxmemory 64mb
    requirepass "with \\"quotes\\" and \\x00 bytes"
    include /etc/forebay/local-*.conf

A line is a name and words.  Inside double quotes a backslash escapes (n, r, t,
b, a, xHH or the character itself); inside single quotes only \\' does.  A
closing quote must be followed by a space or the end of the line.  Every error
names file and line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forebay.errors import ConfigError

#: How deep includes may nest; a file that includes itself stops here, with a message.
MAX_INCLUDE_DEPTH = 16

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "a": "\a"}
_HEX = "0123456789abcdefABCDEF"


@dataclass(slots=True, frozen=True)
class Line:
    """One directive and its file and line."""

    name: str
    words: tuple[str, ...]
    where: str
    text: str

    def error(self, reason: str) -> ConfigError:
        return ConfigError(f"{self.where}: '{self.text}': {reason}")


def split_words(text: str) -> list[str] | None:
    """The words of one line; None if its quotes do not match."""
    words: list[str] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return words
        word, at = _word(text, at)
        if word is None:
            return None
        # Escaped bytes may together be one character.
        words.append(word.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"))


def _word(text: str, at: int) -> tuple[str | None, int]:
    """The word that starts at ``at`` and the place after it."""
    out: list[str] = []
    while at < len(text) and not text[at].isspace():
        if text[at] not in "\"'":
            out.append(text[at])
            at += 1
            continue
        part, at = _quoted_part(text, at)
        if part is None or (at < len(text) and not text[at].isspace()):
            return None, at
        out.append(part)
    return "".join(out), at


def _quoted_part(text: str, at: int) -> tuple[str | None, int]:
    """The text between the quotes that open at ``at``."""
    quote = text[at]
    at += 1
    out: list[str] = []
    while at < len(text):
        char = text[at]
        if char == quote:
            return "".join(out), at + 1
        if char == "\\" and at + 1 < len(text) and (quote == '"' or text[at + 1] == "'"):
            escaped, at = _escape(text, at + 1, quote)
            out.append(escaped)
            continue
        out.append(char)
        at += 1
    return None, at


def _escape(text: str, at: int, quote: str) -> tuple[str, int]:
    """The character that the escape at ``at`` (after the backslash) stands for."""
    digits = text[at + 1 : at + 3]
    if quote == '"' and text[at] == "x" and len(digits) == 2 and all(d in _HEX for d in digits):
        return bytes([int(digits, 16)]).decode("utf-8", "surrogateescape"), at + 3
    char = text[at]
    return (_ESCAPES.get(char, char) if quote == '"' else char), at + 1


def parse_lines(text: str, source: str, depth: int = 0) -> Iterator[Line]:
    """The directives of a text, those of included files in their place."""
    for number, raw in enumerate(text.splitlines(), 1):
        line = parse_line(raw, f"{source}, line {number}")
        if line is None:
            continue
        if line.name == "include" and len(line.words) == 1:
            yield from _included(line, depth)
        else:
            yield line


def parse_line(raw: str, where: str) -> Line | None:
    """One line; None for a comment or an empty one."""
    text = raw.strip()
    if not text or text.startswith("#"):
        return None
    words = split_words(text)
    if words is None:
        raise ConfigError(f"{where}: '{text}': Unbalanced quotes in configuration line")
    return Line(words[0].lower(), tuple(words[1:]), where, text)


def _included(line: Line, depth: int) -> Iterator[Line]:
    if depth >= MAX_INCLUDE_DEPTH:
        raise line.error("includes are nested too deeply; does a file include itself?")
    path = Path(line.words[0])
    is_pattern = any(letter in path.name for letter in "*?[")
    for name in sorted(path.parent.glob(path.name)) if is_pattern else [path]:
        try:
            text = read_text(name)
        except OSError as error:
            raise line.error(f"can't open config file: {error.strerror}") from error
        yield from parse_lines(text, str(name), depth + 1)


def read_text(path: str | Path) -> str:
    """A file as text that keeps every byte."""
    return Path(path).read_text("utf-8", "surrogateescape")
