"""Bytes of the protocol and of arguments by name; compiled modules take them as C integers.

And the two commands around a transaction, as they are sent and as the AOF stores them.
"""

from __future__ import annotations

NUL, BELL, BACKSPACE, TAB, LF, CR, SPACE = b"\0\a\b\t\n\r "
STAR, HASH, DOLLAR, PERCENT, TILDE, GREATER, COLON = b"*#$%~>:"
PLUS, DASH, EQUALS = b"+-="
QUOTE, APOSTROPHE, BACKSLASH, X = b"\"'\\x"

MULTI = b"*1\r\n$5\r\nMULTI\r\n"
EXEC = b"*1\r\n$4\r\nEXEC\r\n"
