"""THE table of commands: every family's rows under their lower-case names.

Whoever wants to know something about a command asks here: the dispatcher, COMMAND,
key extraction, the documentation, the test that every command is tested.
"""

from __future__ import annotations

from collections.abc import Iterable

from forebay.commands import (
    ack,
    admin,
    bitfield,
    bits,
    claim,
    client,
    cluster,
    columns,
    command_info,
    config_commands,
    connection,
    counters,
    debug,
    delete,
    dump,
    expiry,
    groups,
    idmp_commands,
    keys,
    latency,
    lcs,
    list_edit,
    list_moves,
    list_pops,
    lists,
    many_strings,
    memory,
    objects,
    pending,
    pubsub,
    reads,
    saving,
    scan,
    scripts,
    set_algebra,
    set_random,
    sets,
    slowlog,
    sort,
    split,
    streams,
    string_ranges,
    strings,
    transactions,
    xinfo,
)
from forebay.commands.spec import Command

FAMILIES: tuple[list[Command], ...] = (
    streams.ROWS,
    reads.ROWS,
    delete.ROWS,
    groups.ROWS,
    ack.ROWS,
    pending.ROWS,
    claim.ROWS,
    xinfo.ROWS,
    idmp_commands.ROWS,
    columns.ROWS,
    split.ROWS,
    keys.ROWS,
    dump.ROWS,
    expiry.ROWS,
    scan.ROWS,
    strings.ROWS,
    many_strings.ROWS,
    counters.ROWS,
    string_ranges.ROWS,
    lcs.ROWS,
    bits.ROWS,
    bitfield.ROWS,
    lists.ROWS,
    list_edit.ROWS,
    list_moves.ROWS,
    list_pops.ROWS,
    sets.ROWS,
    set_algebra.ROWS,
    set_random.ROWS,
    sort.ROWS,
    transactions.ROWS,
    scripts.ROWS,
    pubsub.ROWS,
    connection.ROWS,
    client.ROWS,
    admin.ROWS,
    saving.ROWS,
    config_commands.ROWS,
    command_info.ROWS,
    slowlog.ROWS,
    latency.ROWS,
    memory.ROWS,
    objects.ROWS,
    cluster.ROWS,
    debug.ROWS,
)


def by_name(families: Iterable[list[Command]]) -> dict[bytes, Command]:
    """All rows; a name may be taken once."""
    table: dict[bytes, Command] = {}
    for rows in families:
        for row in rows:
            assert row.name not in table, f"two rows for {row.name!r}"
            table[row.name] = row
    return table


TABLE = by_name(FAMILIES)
