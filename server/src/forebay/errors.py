"""Every error that Forebay raises on purpose, as one family.

    ForebayError
     +-- CommandError      the client asked for something that cannot be done;
     |                     becomes one ``-CODE text`` reply, the connection lives
     +-- OverrunError      a reply that is not finished, since nobody may be sent that much
     +-- ProtocolError     the bytes are not the protocol; answered, then closed
     |    +-- WrongPortError  they are that of another port: an operator should see it
     +-- ConfigError       a directive is wrong; names file and line, exit code 1
     +-- CorruptDataError  bytes from a disk or a peer do not hold together
     +-- DiskError         the disk refused: which file, what we wanted, why not

A CommandError carries the whole line after the dash, code included, because
clients match on those words: the texts below are Redis's own and are API.
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
    """A reply larger than what its client may leave unread; the client is closed instead."""


class WrongPortError(ProtocolError):
    """The client speaks what another port speaks: somebody has configured something wrong."""


class ConfigError(ForebayError):
    """A configuration that cannot be used; the message says where and what to do."""


class CorruptDataError(ForebayError):
    """Stored or received data that breaks its own rules."""


class DiskError(ForebayError):
    """The disk did not do what was asked; the data is where it was before."""

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
