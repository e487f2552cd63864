"""SQL text split into statements at its semicolons, as Spark reads it.

A semicolon does not end a statement inside

    'text'  "text"     with \\' as an escape, which a raw text r'...' does not have
    `name`
    -- to the end of the line
    /* comments, /* also nested */ */

A script in Spark's own language, BEGIN ... END, has its own semicolons: a text that begins
with BEGIN is one statement.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SKIPPED = re.compile(
    r"""
      (?<!\w)[rR]'[^']*'  |  (?<!\w)[rR]"[^"]*"
    | '(?:\\.|[^'\\])*'   |  "(?:\\.|[^"\\])*"
    | `[^`]*`             |  --[^\n]*
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")
_SCRIPT = re.compile(r"begin\b", re.IGNORECASE)
_SCRIPT_END = re.compile(r"\bend\s*;\s*$", re.IGNORECASE)


class Cut(NamedTuple):
    """A text in statements, and what follows the last semicolon."""

    statements: list[str]
    rest: str


def cut(text: str) -> Cut:
    """Split a text; the part without a semicolon is the rest, empty if it has only comments."""
    if _SCRIPT.match(_without_comments(text)):
        return Cut([text.strip()], "") if _SCRIPT_END.search(text) else Cut([], text)
    statements, start, at = [], 0, 0
    while at < len(text):
        if text[at] == ";":
            statements.append(text[start:at].strip())
            start = at = at + 1
        else:
            at = _next(text, at)
    told = [statement for statement in statements if _without_comments(statement)]
    rest = text[start:]
    return Cut(told, rest if _without_comments(rest) else "")


def statements_of(text: str) -> list[str]:
    """All statements of a text; the last one needs no semicolon."""
    statements, rest = cut(text)
    return [*statements, *([rest.strip()] if rest else [])]


def _next(text: str, at: int) -> int:
    """The place after the literal, the comment or the single character here."""
    if text.startswith("/*", at):
        return _comment_end(text, at)
    found = _SKIPPED.match(text, at)
    if found:
        return found.end()
    return len(text) if text[at] in "'\"`" else at + 1


def _comment_end(text: str, at: int) -> int:
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def _without_comments(text: str) -> str:
    """The text from its first word on; empty if there is none."""
    at = 0
    while at < len(text):
        if text.startswith("--", at) or text.startswith("/*", at):
            at = _next(text, at)
        elif text[at].isspace():
            at += 1
        else:
            return text[at:]
    return ""
