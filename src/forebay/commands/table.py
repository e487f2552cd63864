"""THE table of commands: every family's rows under their lower-case names.

Whoever wants to know something about a command asks here: the dispatcher, COMMAND,
key extraction, the documentation, the test that every command is tested.
"""

from __future__ import annotations

from importlib import import_module

from forebay.commands.spec import Command

FAMILIES = (
    "streams",
    "reads",
    "delete",
    "groups",
    "ack",
    "pending",
    "claim",
    "xinfo",
    "idmp",
    "idmp_commands",
    "keys",
    "expiry",
    "scan",
    "strings",
    "lists",
    "sets",
    "transactions",
    "pubsub",
    "connection",
    "client",
    "admin",
    "config_commands",
    "command_info",
    "slowlog",
    "latency",
    "memory",
    "objects",
    "cluster",
    "debug",
)


def gather() -> dict[bytes, Command]:
    """All rows; a name may be taken once."""
    table: dict[bytes, Command] = {}
    for family in FAMILIES:
        try:
            module = import_module("forebay.commands." + family)
        except ModuleNotFoundError as missing:
            if not str(missing.name).startswith("forebay."):
                raise
            continue
        for row in getattr(module, "ROWS", ()):
            assert row.name not in table, f"two rows for {row.name!r}"
            table[row.name] = row
    return table


TABLE = gather()
