"""The error texts for calls that are refused before any handler runs."""

from __future__ import annotations

from forebay.commands.api.spec import Command
from forebay.wire.argv import Argv

# Redis shows no more than this of a name, and about this much of the arguments.
SHOWN_BYTES = 128


def shown(text: bytes) -> bytes:
    """The part of a client's word that an error shows."""
    return text[:SHOWN_BYTES].split(b"\0", 1)[0]


def unknown_command(argv: Argv) -> bytes:
    """No such command: its name, and the beginning of its arguments."""
    if len(argv) == 1:
        return b"ERR unknown command '%b'" % shown(argv[0])
    args = b""
    for i in range(1, len(argv)):
        if len(args) >= SHOWN_BYTES:
            break
        args += b"'%b' " % shown(argv[i])[: SHOWN_BYTES - len(args)]
    return b"ERR unknown command '%b', with args beginning with: %b" % (shown(argv[0]), args)


def unknown_subcommand(row: Command, argv: Argv) -> bytes:
    """The container has no such subcommand."""
    return b"ERR unknown subcommand '%b'. Try %b HELP." % (shown(argv[1]), row.upper)


def wrong_arity(row: Command) -> bytes:
    """Too few or too many arguments."""
    return b"ERR wrong number of arguments for '%b' command" % row.full_name


def aborted_by(text: bytes) -> bytes:
    """EXEC itself was refused: the reason without its code."""
    reason = text.split(b" ", 1)[-1] if text.startswith(b"ERR ") else text
    return b"EXECABORT Transaction discarded because of: " + reason


def out_of_place(argv: Argv) -> str:
    """For the log: a replica asked for an answer."""
    name = argv[0][:SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return f"it sent '{name}', and answers have no place in the stream"
