"""Bytes of the protocol and of arguments by name; compiled modules take them as C integers."""

from __future__ import annotations

NUL, BELL, BACKSPACE, TAB, LF, CR, SPACE = b"\0\a\b\t\n\r "
STAR, HASH, DOLLAR, PERCENT, TILDE, GREATER, COLON = b"*#$%~>:"
PLUS, DASH, EQUALS = b"+-="
QUOTE, APOSTROPHE, BACKSLASH, X = b"\"'\\x"
