"""MEMORY: how much memory a key and the server use.

USAGE adds up the real content of the value: for a stream the bytes of its nodes
and tree, the pending entries of its groups and their consumers; for a list or a
set the sizes of its members.  It measures ``SAMPLES`` of these and assumes the
same size for the rest.  The name of the key and its place in the dictionary
count too.  STATS and DOCTOR are about the whole process.
"""

from __future__ import annotations

import gc
import sys
from functools import partial

from forebay.commands.admin.memory_figures import Figures, Tables, figures
from forebay.commands.api.args import Args
from forebay.commands.api.context import Context
from forebay.commands.api.help_text import help_row
from forebay.commands.api.spec import READONLY, Command, Keys
from forebay.commands.keyspace.encodings import value_bytes
from forebay.errors import SYNTAX, CommandError
from forebay.wire.argv import Argv

DEFAULT_SAMPLES = 5
#: A slot of a dictionary: hash, two pointers, and the free space around it.
DICT_SLOT_BYTES = 72
#: A key's place in the list of all keys.
PLACE_BYTES = 32
#: Below this size DOCTOR has nothing to report.
DOCTOR_MIN_BYTES = 5 << 20


def memory_usage(ctx: Context, argv: Argv) -> None:
    """MEMORY USAGE key [SAMPLES count]."""
    args = Args(argv, 3)
    samples = DEFAULT_SAMPLES
    while args.more():
        if not args.word(b"SAMPLES"):
            raise CommandError(SYNTAX)
        samples = args.integer()
        if samples < 0:
            raise CommandError(SYNTAX)
    key = argv[2]
    value = ctx.lookup(key)
    if value is None:
        ctx.reply.null()
        return
    own = sys.getsizeof(key) + DICT_SLOT_BYTES + PLACE_BYTES
    if key in ctx.db.expires:
        own += DICT_SLOT_BYTES
    ctx.reply.integer(own + value_bytes(value, samples))


def memory_stats(ctx: Context, argv: Argv) -> None:
    """MEMORY STATS."""
    now = figures(ctx)
    keys = sum(len(db) for db in ctx.keyspace.databases)
    stats: dict[bytes, object] = {
        b"peak.allocated": now.peak,
        b"total.allocated": now.used,
        b"startup.allocated": now.startup,
        b"replication.backlog": now.backlog,
        b"replica.fullsync.buffer": 0,
        b"clients.slaves": now.replicas,
        b"clients.normal": now.clients,
        b"cluster.links": 0,
        b"aof.buffer": now.aof_buffer,
        b"lua.caches": 0,
        b"functions.caches": 0,
        b"script.VMs": 0,
        **{b"db.%d" % tables.db_index: _tables(tables) for tables in now.tables},
        # A dictionary is one block here: its lookup table is part of the above.
        b"overhead.db.hashtable.lut": 0,
        b"overhead.db.hashtable.rehashing": 0,
        b"overhead.total": now.overhead,
        b"db.dict.rehashing.count": 0,
        b"keys.count": keys,
        b"keys.bytes-per-key": now.since_start // keys if keys else 0,
        b"dataset.bytes": now.dataset,
        b"dataset.percentage": now.dataset_percent,
        b"peak.percentage": now.peak_percent,
        **_allocator(now),
        b"fragmentation": now.fragmentation,
        b"fragmentation.bytes": now.fragmentation_bytes,
    }
    ctx.reply.value(stats)


def _tables(tables: Tables) -> dict[bytes, object]:
    return {
        b"overhead.hashtable.main": tables.main,
        b"overhead.hashtable.expires": tables.expires,
    }


def _allocator(now: Figures) -> dict[bytes, object]:
    return {
        b"allocator.allocated": now.used,
        b"allocator.active": now.resident,
        b"allocator.resident": now.resident,
        b"allocator.muzzy": 0,
        b"allocator-fragmentation.ratio": now.fragmentation,
        b"allocator-fragmentation.bytes": max(0, now.fragmentation_bytes),
        b"allocator-rss.ratio": 1.0,
        b"allocator-rss.bytes": 0,
        b"rss-overhead.ratio": 1.0,
        b"rss-overhead.bytes": 0,
    }


def memory_doctor(ctx: Context, argv: Argv) -> None:
    """MEMORY DOCTOR."""
    ctx.reply.verbatim(b"txt", diagnosis(ctx).encode())


def diagnosis(ctx: Context) -> str:
    """The report about the use of memory."""
    used, peak = ctx.services.memory_used(), ctx.services.memory_peak()
    limit = ctx.settings.maxmemory
    findings = []
    if used < DOCTOR_MIN_BYTES:
        return "This instance is using very little memory; there is nothing to look into yet.\n"
    if peak > used * 3 // 2:
        findings.append(
            f"Peak: once {peak} bytes were in use, now {used}; the difference may not go back"
            " to the operating system."
        )
    if limit and used > limit * 9 // 10:
        findings.append(
            f"Limit: {used} bytes are in use and maxmemory is {limit}; above it writes are refused."
            " Trim streams (XTRIM, MAXLEN, MINID) or raise the limit."
        )
    if not findings:
        return "No memory issue was found in this instance.\n"
    return "Memory issues were found in this instance:\n\n" + "\n".join(findings) + "\n"


def memory_malloc_stats(ctx: Context, argv: Argv) -> None:
    """MEMORY MALLOC-STATS."""
    ctx.reply.bulk(b"Stats not supported for the current allocator")


def memory_purge(ctx: Context, argv: Argv) -> None:
    """MEMORY PURGE: free objects that only reference cycles keep alive."""
    gc.collect()
    ctx.reply.ok()


_HELP = """
DOCTOR
    Return memory problems reports.
MALLOC-STATS
    Return internal statistics report from the memory allocator.
PURGE
    Attempt to purge dirty pages for reclamation by the allocator.
STATS
    Return information about the memory usage of the server.
USAGE <key> [SAMPLES <count>]
    Return memory in bytes used by <key> and its value. Nested values are
    sampled up to <count> times (default: 5, 0 means sample all).
"""


_row = partial(Command, arity=2, flags=0, categories="slow", since="4.0.0", group="server")


_SUBCOMMANDS = [
    _row(name="doctor", handler=memory_doctor, summary="A readable report about memory use."),
    _row(
        name="malloc-stats",
        handler=memory_malloc_stats,
        summary="Statistics of the allocator.",
    ),
    _row(name="purge", handler=memory_purge, summary="Returns free memory to the system."),
    _row(name="stats", handler=memory_stats, summary="The use of memory, in numbers."),
    Command(
        name="usage",
        handler=memory_usage,
        arity=-3,
        flags=READONLY,
        categories="read slow",
        keys=Keys(2, 2, 1, "RO"),
        since="4.0.0",
        summary="The approximate size of a key and its value in bytes.",
        group="server",
        syntax="key [SAMPLES count]",
    ),
    help_row(container="memory", text=_HELP, since="4.0.0"),
]

ROWS = [
    Command(
        name="memory",
        handler=None,
        arity=-2,
        flags=0,
        categories="slow",
        since="4.0.0",
        summary="Shows how the server uses memory.",
        group="server",
        subcommands=_SUBCOMMANDS,
    )
]
