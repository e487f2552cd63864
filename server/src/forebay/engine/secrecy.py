"""The parts of a command that others may see: MONITOR and the slow log show no password."""

from __future__ import annotations

from forebay.commands.api.spec import Command

REDACTED = b"(redacted)"
SECRET_DIRECTIVES = (
    b"requirepass",
    b"masterauth",
    b"primaryauth",
    b"tls-key-file-pass",
    b"tls-client-key-file-pass",
)


def without_secrets(row: Command, args: list[bytes]) -> list[bytes]:
    """The arguments with REDACTED in place of every secret."""
    hidden = secret_places(row.full_name, args)
    return [REDACTED if i in hidden else arg for i, arg in enumerate(args)]


def secret_places(name: bytes, args: list[bytes]) -> range | list[int]:
    """The arguments that are secret."""
    if name == b"auth":
        return range(1, len(args))
    if name == b"hello":
        words = [arg.upper() for arg in args]
        at = words.index(b"AUTH") if b"AUTH" in words else len(args)
        return range(at + 1, at + 3)
    if name in (b"acl|setuser", b"acl|deluser", b"acl|getuser"):
        return range(2, len(args))
    if name == b"config|set":
        return [i + 1 for i in range(2, len(args), 2) if args[i].lower() in SECRET_DIRECTIVES]
    return []
