"""The server: its state, durability, replicas, slow commands and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay.cli.remote.facts import program
from forebay_console.asking.asked import Asked
from forebay_console.servers.shown import shown
from forebay_console.watch.board import Board

MOST_SLOW = 50
SLOW_ARGUMENT_BYTES = 200


def server(asked: Asked) -> dict[str, Any]:
    """The facts of INFO, in the parts that a person looks for."""
    trouble = asked.board.server.trouble
    if trouble is not None:
        return facts(Board()) | {"trouble": trouble}
    why = asked.permits.why_no_info(asked.server)
    if why is None:
        return facts(asked.board)
    return facts(Board()) | {"why_unknown": why}


def facts(board: Board) -> dict[str, Any]:
    """The same, from the board alone."""
    info = board.server.info
    return {
        "program": program(info) if info else None,
        "trouble": board.server.trouble,
        "why_unknown": None,
        "role": info.get("role"),
        "uptime_s": number(info, "uptime_in_seconds"),
        "memory_bytes": number(info, "used_memory"),
        "memory_limit_bytes": number(info, "maxmemory") or None,
        "clients": number(info, "connected_clients"),
        "blocked_clients": number(info, "blocked_clients"),
        "commands_a_s": number(info, "instantaneous_ops_per_sec"),
        "durability": durability(info),
        "replication": replication(info),
        "curves": {name: curve.values() for name, curve in board.server.curves.items()},
    }


def number(info: Mapping[str, str], name: str) -> int | None:
    """A number of INFO; None if the server does not report it."""
    value = info.get(name, "")
    return int(value) if value.lstrip("-").isdecimal() else None


def durability(info: Mapping[str, str]) -> dict[str, Any]:
    """How safe acknowledged data is: written, on disk, on replicas."""
    return {
        "aof": info.get("aof_enabled") == "1" if "aof_enabled" in info else None,
        "acked": number(info, "aof_acked_offset"),
        "synced": number(info, "aof_synced_offset"),
        "unsynced_bytes": number(info, "aof_unsynced_bytes"),
        "sync_age_ms": number(info, "aof_last_fsync_age_ms"),
        "last_error": info.get("aof_last_error") or None,
        "write_status": info.get("aof_last_write_status"),
        "last_save_s": number(info, "rdb_last_save_time"),
        "changes_since_save": number(info, "rdb_changes_since_last_save"),
        "replicated": replicated(info),
    }


def replicated(info: Mapping[str, str]) -> int | None:
    """The offset that all replicas have; None without replicas."""
    offsets = [number(one, "offset") for one in replicas(info)]
    known = [offset for offset in offsets if offset is not None]
    return min(known) if known else None


def replicas(info: Mapping[str, str]) -> list[dict[str, str]]:
    """The replicas that INFO lists, a line each."""
    found = []
    for name, value in info.items():
        if name.startswith("slave") and name[5:].isdecimal():
            found.append(dict(pair.split("=", 1) for pair in value.split(",") if "=" in pair))
    return found


def replication(info: Mapping[str, str]) -> dict[str, Any]:
    """The primary or the replicas, and their offsets."""
    return {
        "offset": number(info, "master_repl_offset"),
        "primary": f"{info['master_host']}:{info.get('master_port')}"
        if "master_host" in info
        else None,
        "link": info.get("master_link_status"),
        "replicas": replicas(info),
    }


def slow_log(asked: Asked) -> dict[str, Any]:
    """The slow commands that the server remembers."""
    reply = asked.server.ask("SLOWLOG", "GET", MOST_SLOW)
    return {
        "commands": [
            {
                "at_s": row[1],
                "took_us": row[2],
                "words": [shown(word, SLOW_ARGUMENT_BYTES) for word in row[3]],
                "client": row[4].decode("utf-8", "replace") if len(row) > 4 else "",
            }
            for row in reply
        ]
    }


def settings(asked: Asked) -> dict[str, Any]:
    """All settings, and for a Forebay which of them differ from their default."""
    reply = asked.server.ask("CONFIG", "GET", "*")
    values = dict(zip(*[iter(word.decode("utf-8", "replace") for word in reply)] * 2, strict=True))
    usual = defaults() if "forebay_version" in asked.board.server.info else {}
    return {
        "settings": [
            {"name": name, "value": hidden(name, value), "default": usual.get(name)}
            for name, value in sorted(values.items())
        ]
    }


def defaults() -> dict[str, str]:
    """The default settings of a Forebay."""
    from forebay.server.config.config import Config

    found = Config().get([b"*"])
    found.pop(b"dir", None)  # it is the directory of this process
    return {name.decode(): value.decode("utf-8", "replace") for name, value in found.items()}


def hidden(name: str, value: str) -> str:
    """A value without its secret."""
    return "***" if value and name in ("requirepass", "masterauth", "tls-key-file-pass") else value


def clients(asked: Asked) -> dict[str, Any]:
    """The connected clients."""
    reply = asked.server.ask("CLIENT", "LIST")
    rows = [
        dict(pair.split("=", 1) for pair in text.split(" ") if "=" in pair)
        for text in reply.decode("utf-8", "replace").splitlines()
    ]
    return {"clients": rows[:1000], "total": len(rows)}
