"""Every error that Forebay raises on purpose, as one family.

    ForebayError
     +-- CommandError      the client's request cannot be carried out;
     |                     becomes one ``-CODE text`` reply, the connection lives
     +-- OverrunError      a reply larger than any client may be sent; it is not finished
     +-- ProtocolError     the bytes are not the protocol; answered, then closed
     |    +-- WrongPortError  they belong to another port: an operator should see it
     +-- ConfigError       a directive is wrong; names file and line, exit code 1
     +-- CorruptDataError  bytes from a disk or a peer are not consistent
     +-- DiskError         the disk failed: the file, the operation, the reason

A CommandError carries the whole line after the dash, code included, because
clients compare those words: the texts below are Redis's own, and part of the
API.
"""

from __future__ import annotations


class ForebayError(Exception):
    """Base of all errors raised on purpose."""


class CommandError(ForebayError):
    """A command that failed; ``text`` is the line sent after the dash."""

    def __init__(self, text: str | bytes) -> None:
        self.text: bytes = text.encode() if isinstance(text, str) else text
        super().__init__(self.text.decode("utf-8", "replace"))


class ProtocolError(ForebayError):
    """The client does not speak the protocol; ``text`` is sent, then the socket closed."""

    def __init__(self, text: str | bytes) -> None:
        self.text: bytes = text.encode() if isinstance(text, str) else text
        super().__init__(self.text.decode("utf-8", "replace"))


class OverrunError(ForebayError):
    """A reply larger than its client may leave unread; the client is closed instead."""


class WrongPortError(ProtocolError):
    """The client uses the protocol of another port: a configuration is wrong."""


class ConfigError(ForebayError):
    """An unusable configuration; the message says where and what to do."""


class CorruptDataError(ForebayError):
    """Stored or received data that is not consistent."""


class DiskError(ForebayError):
    """The disk failed; the data is as it was before."""

    def __init__(self, path: str, action: str, reason: str) -> None:
        self.path, self.action, self.reason = path, action, reason
        super().__init__(f"cannot {action} {path}: {reason}")


SYNTAX = b"ERR syntax error"
WRONGTYPE = b"WRONGTYPE Operation against a key holding the wrong kind of value"
NO_SUCH_KEY = b"ERR no such key"
NOT_AN_INTEGER = b"ERR value is not an integer or out of range"
INVALID_ID = b"ERR Invalid stream ID specified as stream command argument"
OUT_OF_MEMORY = b"OOM command not allowed when used memory > 'maxmemory'."


def wrong_arity(name: bytes) -> CommandError:
    """The arity error of a command; ``name`` is lower case, 'xgroup|create' for a subcommand."""
    return CommandError(b"ERR wrong number of arguments for '%s' command" % name)
