"""Whether a client is on this machine, and the features reserved for such clients."""

from __future__ import annotations

from forebay.commands.api.session import Session
from forebay.commands.api.settings import DEBUG_LOCAL, DEBUG_YES
from forebay.errors import CommandError

_LOOPBACK = (b"127.", b"[::1]:", b"[::ffff:127.")


def is_local_address(addr: bytes) -> bool:
    """Whether an address, as CLIENT LIST prints it, is on this machine; a Unix socket always is."""
    return addr.startswith(_LOOPBACK) or not (addr[:1].isdigit() or addr.startswith(b"["))


def is_local(session: Session) -> bool:
    """Whether the client is on this machine; a client without a socket is."""
    return is_local_address(session.addr)


def is_allowed(setting: str, session: Session) -> bool:
    """Evaluate a setting of the kind no | local | yes for this client."""
    return setting == DEBUG_YES or (setting == DEBUG_LOCAL and is_local(session))


def not_allowed(command: bytes) -> CommandError:
    """The error for clients that may not use DEBUG or MODULE."""
    text = (
        b'ERR %s command not allowed. If the enable-%s-command option is set to "local", you can'
        b" run it from a local connection, otherwise you need to set this option in the"
        b" configuration file, and then restart the server."
    )
    return CommandError(text % (command, command.lower()))
