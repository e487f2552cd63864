"""Facts for COMMAND that are not in the rows: tips for clients of a cluster, and the history.

    tips      hints of COMMAND INFO: can the reply differ between servers, to which
              nodes of a cluster does a call go, and how are their replies merged
    history   COMMAND DOCS: the versions of Redis that added something to a command;
              an argument that is named here gets its ``since`` from it
    replaced  commands that are kept for old clients, since when, and what to use instead

All are keyed by the full name.  The dispatcher does not need these facts about Redis, so
they are not in the rows.
"""

from __future__ import annotations

from functools import cache

_NAMES_BY_TIP = {
    "nondeterministic_output": """
        client|info client|list cluster|bumpepoch cluster|count-failure-reports
        cluster|getkeysinslot cluster|info cluster|links cluster|myshardid cluster|nodes
        cluster|replicas cluster|shards cluster|slaves cluster|slot-stats cluster|slots
        cluster|syncslots dump info lastsave latency|doctor
        latency|graph latency|histogram latency|history latency|latest memory|doctor
        memory|malloc-stats memory|stats object|encoding object|freq object|idletime
        object|refcount pttl randomkey scan slowlog|get slowlog|len spop srandmember sscan time
        ttl xadd xautoclaim xclaim xinfo|consumers xpending xtrim""",
    "nondeterministic_output_order": """
        command command|docs command|info command|list keys module|list sdiff sinter smembers
        sunion""",
    "request_policy:all_nodes": """
        acl|deluser acl|save acl|setuser
        client|setinfo client|setname config|resetstat config|rewrite config|set latency|doctor
        latency|graph latency|histogram latency|history latency|latest latency|reset
        script|flush script|load slowlog|get slowlog|len slowlog|reset""",
    "request_policy:all_shards": """
        cluster|slot-stats dbsize flushall flushdb function|flush info keys memory|doctor
        memory|malloc-stats memory|purge memory|stats ping randomkey script|exists script|kill
        wait waitaof""",
    "request_policy:multi_shard": "del exists mget mset msetex touch unlink",
    "request_policy:special": "scan",
    "response_policy:agg_sum": "dbsize del exists latency|reset slowlog|len touch unlink",
    "response_policy:agg_min": "wait waitaof",
    "response_policy:agg_logical_and": "script|exists",
    "response_policy:one_succeeded": "script|kill",
    "response_policy:all_succeeded": """
        acl|deluser acl|save acl|setuser
        client|setinfo client|setname config|resetstat config|rewrite config|set flushall flushdb
        function|flush memory|purge mset msetex ping script|flush script|load slowlog|reset""",
    "response_policy:special": """
        info latency|doctor latency|graph latency|histogram latency|history latency|latest
        memory|doctor memory|malloc-stats memory|stats randomkey scan""",
}
_TIPS = [(tip, set(names.split())) for tip, names in _NAMES_BY_TIP.items()]

#: "version item, item; version item": tokens and names of arguments, or a few words.
_HISTORY = {
    "acl|getuser": "6.2.0 channels; 7.0.0 selectors",
    "acl|log": "7.2.0 entry-id, timestamp-created, timestamp-last-updated",
    "acl|setuser": "6.2.0 channels; 7.0.0 selectors, permissions of keys",
    "auth": "6.0.0 username",
    "bgsave": "3.2.2 SCHEDULE",
    "bitcount": "7.0.0 BYTE, BIT",
    "bitpos": "7.0.0 BYTE, BIT",
    "blpop": "6.0.0 fractions of a second",
    "brpop": "6.0.0 fractions of a second",
    "brpoplpush": "6.0.0 fractions of a second",
    "client|kill": "2.8.12 ID, TYPE; 3.2.0 MASTER; 5.0.0 REPLICA; 6.2.0 LADDR; 7.4.0 MAXAGE",
    "client|list": "2.8.12 id=; 5.0.0 TYPE; 6.0.0 user=; 6.2.0 ID, argv-mem=, tot-mem=, laddr=, "
    "redir=; 7.0.0 resp=, multi-mem=, rbs=, rbp=; 7.0.3 ssub=; 7.2.0 lib-name=, lib-ver=; "
    "7.4.0 watch=; 8.0.0 io-thread=",
    "client|pause": "6.2.0 WRITE, ALL",
    "cluster|meet": "4.0.0 cluster-bus-port",
    "cluster|slots": "4.0.0 IDs of nodes; 7.0.0 more about the network",
    "command|info": "7.0.0 a call without names",
    "config|get": "7.0.0 several patterns",
    "config|set": "7.0.0 several parameters",
    "exists": "3.0.3 several keys",
    "expire": "7.0.0 NX, XX, GT, LT",
    "expireat": "7.0.0 NX, XX, GT, LT",
    "flushall": "4.0.0 ASYNC; 6.2.0 SYNC",
    "flushdb": "4.0.0 ASYNC; 6.2.0 SYNC",
    "hello": "6.2.0 a call without protover",
    "info": "7.0.0 several sections",
    "lpop": "6.2.0 count",
    "lpush": "2.4.0 several elements",
    "lpushx": "4.0.0 several elements",
    "pexpire": "7.0.0 NX, XX, GT, LT",
    "pexpireat": "7.0.0 NX, XX, GT, LT",
    "pttl": "2.8.0 the reply -2",
    "renamenx": "3.2.0 a new name that is the old one",
    "restore": "3.0.0 REPLACE; 5.0.0 ABSTTL, IDLETIME, FREQ",
    "rpop": "6.2.0 count",
    "rpush": "2.4.0 several elements",
    "rpushx": "4.0.0 several elements",
    "sadd": "2.4.0 several members",
    "scan": "6.0.0 TYPE",
    "script|flush": "6.2.0 ASYNC, SYNC",
    "set": "2.6.12 EX, PX, NX, XX; 6.0.0 KEEPTTL; 6.2.0 GET, EXAT, PXAT; 7.0.0 NX with GET; "
    "8.4.0 IFEQ, IFNE, IFDEQ, IFDNE",
    "shutdown": "7.0.0 NOW, FORCE, ABORT",
    "slowlog|get": "4.0.0 address and name of the client",
    "spop": "3.2.0 count",
    "srandmember": "2.6.0 count",
    "srem": "2.4.0 several members",
    "ttl": "2.8.0 the reply -2",
    "xadd": "6.2.0 NOMKSTREAM, MINID, LIMIT; 7.0.0 the ID ms-*; 8.2.0 KEEPREF, DELREF, ACKED; "
    "8.6.0 IDMP, IDMPAUTO",
    "xautoclaim": "7.0.0 the deleted entries in the reply",
    "xgroup|create": "7.0.0 ENTRIESREAD",
    "xgroup|setid": "7.0.0 ENTRIESREAD",
    "xinfo|consumers": "7.2.0 inactive",
    "xinfo|groups": "7.0.0 entries-read, lag",
    "xinfo|stream": "6.0.0 FULL; 7.0.0 max-deleted-entry-id, entries-added, "
    "recorded-first-entry-id, entries-read, lag; 7.2.0 active-time; 8.6.0 idmp-duration, "
    "idmp-maxsize, pids-tracked, iids-tracked, iids-added, iids-duplicates",
    "xpending": "6.2.0 IDLE, exclusive ranges",
    "xrange": "6.2.0 exclusive ranges",
    "xread": "8.10.0 MAXCOUNT, MAXSIZE",
    "xreadgroup": "8.4.0 CLAIM; 8.10.0 MAXCOUNT, MAXSIZE",
    "xrevrange": "6.2.0 exclusive ranges",
    "xsetid": "7.0.0 ENTRIESADDED, MAXDELETEDID",
    "xtrim": "6.2.0 MINID, LIMIT; 8.2.0 KEEPREF, DELREF, ACKED",
}

#: Since when a command is deprecated, and its replacement.
REPLACED = {
    "brpoplpush": ("6.2.0", "BLMOVE RIGHT LEFT"),
    "cluster|slaves": ("5.0.0", "CLUSTER REPLICAS"),
    "cluster|slots": ("7.0.0", "CLUSTER SHARDS"),
    "getset": ("6.2.0", "SET GET"),
    "psetex": ("2.6.12", "SET PX"),
    "quit": ("7.2.0", "closing the connection"),
    "rpoplpush": ("6.2.0", "LMOVE RIGHT LEFT"),
    "setex": ("2.6.12", "SET EX"),
    "setnx": ("2.6.12", "SET NX"),
    "substr": ("2.0.0", "GETRANGE"),
}


@cache
def tips_of(name: str) -> list[str]:
    """The tips of a command; do not change the list."""
    return [tip for tip, names in _TIPS if name in names]


@cache
def history_of(name: str) -> list[tuple[str, list[str]]]:
    """Versions, oldest first, and what each of them added; do not change the list."""
    steps = [step.split(None, 1) for step in _HISTORY.get(name, "").split(";") if step]
    return [(version, what.split(", ")) for version, what in steps]


def since_of(name: str, argument: str) -> str:
    """The version that added this argument (a token or a name); empty if it was always there."""
    return next((version for version, what in history_of(name) if argument in what), "")
