"""Whether a client sits on this machine, and what only such a client may do."""

from __future__ import annotations

from forebay.commands.session import Session
from forebay.commands.settings import DEBUG_LOCAL, DEBUG_YES
from forebay.errors import CommandError

_LOOPBACK = (b"127.", b"[::1]", b"::1", b"/")


def is_local(session: Session) -> bool:
    """True for the loopback addresses, Unix sockets and sessions without a socket."""
    return not session.addr or session.addr.startswith(_LOOPBACK)


def is_allowed(setting: str, session: Session) -> bool:
    """Read a setting of the kind no | local | yes for this client."""
    return setting == DEBUG_YES or (setting == DEBUG_LOCAL and is_local(session))


def not_allowed(command: bytes) -> CommandError:
    """What a client hears that may not use DEBUG or MODULE."""
    text = (
        b'ERR %s command not allowed. If the enable-%s-command option is set to "local", you can'
        b" run it from a local connection, otherwise you need to set this option in the"
        b" configuration file, and then restart the server."
    )
    return CommandError(text % (command, command.lower()))
