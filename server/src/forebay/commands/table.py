"""THE table of commands: every family's rows under their lower-case names.

The dispatcher, COMMAND, key extraction, the documentation, and the test that
every command is tested read all facts about a command here.
"""

from __future__ import annotations

from collections.abc import Iterable

from forebay.commands.admin import (
    admin,
    backup,
    cluster,
    command_info,
    config,
    debug,
    latency,
    memory,
    saving,
    slowlog,
)
from forebay.commands.api.spec import Command
from forebay.commands.clients import acl, client, connection, pubsub, transactions
from forebay.commands.keyspace import dump, expiry, keys, object_command, scan, sort
from forebay.commands.lists import edit, lmove, lmpop, push_pop
from forebay.commands.replication import links, roles, waiting
from forebay.commands.scripts import eval_command
from forebay.commands.sets import algebra, membership, random_members
from forebay.commands.streams import (
    columns,
    split,
    xack,
    xadd,
    xclaim,
    xdel,
    xgroup,
    xidmp,
    xinfo,
    xpending,
    xrange,
    xread,
    xreadgroup,
    xsetid,
)
from forebay.commands.strings import bitfield, bits, counters, get_set, lcs, mget_mset, ranges

FAMILIES: tuple[list[Command], ...] = (
    xadd.ROWS,
    xrange.ROWS,
    xsetid.ROWS,
    xread.ROWS,
    xreadgroup.ROWS,
    xdel.ROWS,
    xgroup.ROWS,
    xack.ROWS,
    xpending.ROWS,
    xclaim.ROWS,
    xinfo.ROWS,
    xidmp.ROWS,
    columns.ROWS,
    split.ROWS,
    keys.ROWS,
    dump.ROWS,
    expiry.ROWS,
    scan.ROWS,
    get_set.ROWS,
    mget_mset.ROWS,
    counters.ROWS,
    ranges.ROWS,
    lcs.ROWS,
    bits.ROWS,
    bitfield.ROWS,
    push_pop.ROWS,
    edit.ROWS,
    lmove.ROWS,
    lmpop.ROWS,
    membership.ROWS,
    algebra.ROWS,
    random_members.ROWS,
    sort.ROWS,
    transactions.ROWS,
    eval_command.ROWS,
    pubsub.ROWS,
    connection.ROWS,
    client.ROWS,
    acl.ROWS,
    admin.ROWS,
    saving.ROWS,
    backup.ROWS,
    roles.ROWS,
    links.ROWS,
    waiting.ROWS,
    config.ROWS,
    command_info.ROWS,
    slowlog.ROWS,
    latency.ROWS,
    memory.ROWS,
    object_command.ROWS,
    cluster.ROWS,
    debug.ROWS,
)


def by_name(families: Iterable[list[Command]]) -> dict[bytes, Command]:
    """All rows; each name may be used only once."""
    table: dict[bytes, Command] = {}
    for rows in families:
        for row in rows:
            assert row.name not in table, f"two rows for {row.name!r}"
            table[row.name] = row
    return table


TABLE = by_name(FAMILIES)
