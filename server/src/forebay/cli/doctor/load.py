"""How busy a server is: memory against its limit, clients, evictions, slow commands, forks."""

from __future__ import annotations

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.patient import Patient
from forebay.cli.output import counted
from forebay.cli.words import MB, size, span

MEMORY, HELD, EVICTED, CLIENTS = "memory", "fragmentation", "evictions", "clients"
BLOCKED, SLOW, FORK = "blocked clients", "slow log", "last fork"

#: Above this share of maxmemory or maxclients it is time to act.
NEARLY = 0.9
#: A server that holds this many times the memory that it uses, if that is worth a word.
WASTEFUL = 1.5
WORTH_BYTES = 256 * MB
RECENT_S = 3600
LONG_FORK_S = 0.5
MACHINE_SHARE = 0.7


def memory_finding(patient: Patient) -> Finding:
    """Memory in use against maxmemory."""
    used, limit = patient.number("used_memory"), patient.number("maxmemory")
    if used is None or limit is None:
        return unknown(MEMORY, "The server does not tell how much memory it uses")
    facts = {"used_bytes": used, "maxmemory_bytes": limit}
    if not limit:
        return _no_limit(patient, used)
    said = f"{size(used)} of {size(limit)} are in use (maxmemory)"
    more = patient.address.setting("maxmemory", f"{2 * limit // MB or 1}mb")
    if used >= limit and patient.text("maxmemory_policy") in ("noeviction", ""):
        return problem(MEMORY, f"{said}: writes are refused (OOM)", more, **facts)
    if used >= limit * NEARLY:
        return advice(
            MEMORY, f"{said}: trim streams (XADD MAXLEN, XTRIM), or raise it", more, **facts
        )
    return ok(MEMORY, said, **facts)


def _no_limit(patient: Patient, used: int) -> Finding:
    machine = patient.number("total_system_memory") or 0
    facts = {"used_bytes": used, "maxmemory_bytes": 0, "machine_bytes": machine}
    limit_mb = max(1, int(machine * MACHINE_SHARE) // MB) if machine else 1024
    return advice(
        MEMORY,
        f"{size(used)} are in use and there is no maxmemory: when the machine has no more, the "
        "kernel kills the server; with a limit the server would refuse writes instead",
        patient.address.setting("maxmemory", f"{limit_mb}mb"),
        **facts,
    )


def held_finding(patient: Patient) -> Finding:
    """Memory that the process holds, against memory that it uses."""
    used, held = patient.number("used_memory"), patient.number("used_memory_rss")
    if used is None or held is None:
        return unknown(HELD, "The server does not tell how much memory it holds")
    facts = {"used_bytes": used, "held_bytes": held}
    said = f"The server uses {size(used)} and holds {size(held)}"
    if held > used * WASTEFUL and held - used > WORTH_BYTES:
        return advice(
            HELD,
            f"{said}: the rest is in pieces that cannot be used again; a restart, or a failover "
            "to a replica, frees it",
            patient.address.command("MEMORY", "PURGE"),
            **facts,
        )
    if held < used * NEARLY and used - held > WORTH_BYTES:
        return problem(
            HELD,
            f"{said}, less than it uses: the rest is in swap, and commands that need it wait",
            "grep VmSwap /proc/PID_OF_THE_SERVER/status",
            **facts,
        )
    return ok(HELD, said, **facts)


def evicted_finding(patient: Patient) -> Finding:
    """Whether the server evicts keys: an evicted stream is gone with all its groups."""
    evicted = patient.number("evicted_keys")
    if evicted is None:
        return unknown(EVICTED, "The server does not tell how many keys it has evicted")
    keep = patient.address.setting("maxmemory-policy", "noeviction")
    policy = patient.text("maxmemory_policy")
    facts = {"evicted": evicted, "policy": policy or None}
    if patient.grown("evicted_keys"):
        return problem(
            EVICTED,
            f"Keys are thrown away now ({evicted:,} since the start): a stream is lost as a whole, "
            "with its groups",
            keep,
            **facts,
        )
    if evicted:
        said = f"{counted(evicted, 'key')} thrown away since the start"
        return advice(EVICTED, f"{said}: a stream goes with all its groups", keep, **facts)
    if policy.startswith("allkeys") and patient.number("maxmemory"):
        return advice(
            EVICTED,
            f"maxmemory-policy is {policy}: when memory is full, whole streams are thrown away",
            keep,
            **facts,
        )
    return ok(EVICTED, "No key was thrown away to make room", **facts)


def clients_finding(patient: Patient) -> Finding:
    """Connections against maxclients."""
    clients = patient.number("connected_clients")
    most = patient.number("maxclients") or patient.setting("maxclients")
    if clients is None or not most:
        return unknown(CLIENTS, "The server does not tell how many clients it has or may have")
    rejected = patient.number("rejected_connections") or 0
    facts = {"connected": clients, "maxclients": most, "rejected": rejected}
    said = f"{counted(clients, 'client')} of at most {most:,}"
    more = patient.address.setting("maxclients", str(2 * most))
    if patient.grown("rejected_connections"):
        return problem(CLIENTS, f"{said}, and others are turned away now", more, **facts)
    if clients >= most * NEARLY:
        return problem(CLIENTS, f"{said}: soon others are turned away", more, **facts)
    if rejected:
        told = f"{said}, and {rejected:,} were turned away since the start"
        return advice(CLIENTS, told, more, **facts)
    return ok(CLIENTS, said, **facts)


def blocked_finding(patient: Patient) -> Finding:
    """Clients that wait; readers of streams do, and that is fine."""
    blocked = patient.number("blocked_clients")
    if blocked is None:
        return unknown(BLOCKED, "The server does not tell how many clients wait")
    said = "No client waits"
    if blocked:
        said = f"Waiting: {counted(blocked, 'client')}, as readers do in XREAD BLOCK"
    return ok(BLOCKED, said, blocked=blocked)


def slow_finding(patient: Patient) -> Finding:
    """The slowest command of the last hour."""
    if patient.slow is None:
        return unknown(SLOW, "The server does not show its slow log")
    least_us = patient.setting("slowlog-log-slower-than")
    if least_us is not None and least_us < 0:
        return unknown(
            SLOW,
            "The slow log is off",
            patient.address.setting("slowlog-log-slower-than", "10000"),
        )
    recent = [slow for slow in patient.slow if patient.now_s - slow.at_s < RECENT_S]
    if not recent:
        return ok(SLOW, "No slow command in the last hour", slow=0)
    worst = max(recent, key=lambda slow: slow.took_us)
    return advice(
        SLOW,
        f"{counted(len(recent), 'slow command')} in the last hour, the slowest is {worst.command} "
        f"with {span(worst.took_us / 1e6)}: all other clients waited this long",
        patient.address.command("SLOWLOG", "GET", "10"),
        slow=len(recent),
        worst_us=worst.took_us,
        worst_command=worst.command,
    )


def fork_finding(patient: Patient) -> Finding:
    """How long the last fork stopped the server."""
    took_us = patient.number("latest_fork_usec")
    if took_us is None:
        return unknown(FORK, "The server does not tell how long its last fork took")
    if took_us >= LONG_FORK_S * 1e6:
        return advice(
            FORK,
            f"The last fork stopped the server for {span(took_us / 1e6)}: keep less data in one "
            "server, or save on a replica",
            patient.address.command("LATENCY", "LATEST"),
            took_us=took_us,
        )
    said = f"The last fork took {span(took_us / 1e6)}" if took_us else "There was no fork yet"
    return ok(FORK, said, took_us=took_us)
