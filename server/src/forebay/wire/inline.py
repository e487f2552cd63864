"""A command typed by a person: one line cut into words, with quotes.

    XADD orders * note "two words\\x21"   ->  XADD, orders, *, note, two words!

Rules (those of Redis, which some scripts rely on)
  1. Blanks separate words.  A quote may begin inside a word; the closing quote
     ends the word, and a blank or the end of the line must follow.
  2. In double quotes: \\xHH is a byte, \\n \\r \\t \\b \\a are the usual ones, a
     backslash before anything else means that character.
  3. In single quotes only \\' is special.  Outside quotes nothing is.
  4. A NUL ends the line.

The words are unescaped in place: they only ever get shorter, so the write index
never passes the read index.
"""

from __future__ import annotations

from forebay import mem
from forebay.wire.argv import Argv
from forebay.wire.chars import (
    APOSTROPHE,
    BACKSLASH,
    BACKSPACE,
    BELL,
    CR,
    LF,
    NUL,
    QUOTE,
    SPACE,
    TAB,
    X,
)


def split_line(argv: Argv, line: bytearray) -> bool:
    """Let argv hold the words of the line, whose bytes change; False: a quote is not closed."""
    argv.use(line)
    p = line
    end = mem.find(p, 0, len(line), NUL)
    if end < 0:
        end = len(line)
    at = 0
    n = 0
    while True:
        while at < end and is_blank(p[at]):
            at += 1
        if at >= end:
            break
        start = at
        at, length = read_word(p, at, end)
        if at < 0:
            return False
        argv.reserve(n + 1)
        argv.w[2 * n] = start
        argv.w[2 * n + 1] = length
        n += 1
    argv.n = n
    return True


def is_blank(c: int) -> bool:
    """Whether it is a space in C: blank, tab, LF, VT, FF, CR."""
    return c == SPACE or (TAB <= c <= CR)


def read_word(p: mem.Pointer, at: int, end: int) -> tuple[int, int]:
    """Unescape the word at p[at]: (index after it or -1 if it never ends, its length)."""
    start = at
    o = at
    quote = 0
    while at < end:
        c = p[at]
        at += 1
        if quote == 0:
            if c in (QUOTE, APOSTROPHE):
                quote = c
                continue
            # VT and FF separate words but do not end one.
            if c in (SPACE, TAB, LF, CR):
                return at, o - start
        elif c == quote:
            if at < end and not is_blank(p[at]):
                return -1, 0
            return at, o - start
        elif c == BACKSLASH and at < end and (quote == QUOTE or p[at] == APOSTROPHE):
            at, c = read_escape(p, at, end)
        p[o] = c
        o += 1
    if quote != 0:
        return -1, 0
    return at, o - start


def read_escape(p: mem.Pointer, at: int, end: int) -> tuple[int, int]:
    """The escape after a backslash: (index after it, the byte it means)."""
    c = p[at]
    if c == X and end - at >= 3:
        high = hex_digit(p[at + 1])
        low = hex_digit(p[at + 2])
        if high >= 0 and low >= 0:
            return at + 3, 16 * high + low
    if c == 110:
        c = LF
    elif c == 114:
        c = CR
    elif c == 116:
        c = TAB
    elif c == 98:
        c = BACKSPACE
    elif c == 97:
        c = BELL
    return at + 1, c


def hex_digit(c: int) -> int:
    """The value of a hexadecimal digit, or -1."""
    if 48 <= c <= 57:
        return c - 48
    if 97 <= c <= 102:
        return c - 87
    if 65 <= c <= 70:
        return c - 55
    return -1
