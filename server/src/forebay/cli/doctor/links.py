"""The role of a server, and its link to a primary as the replica sees it."""

from __future__ import annotations

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.patient import Patient
from forebay.cli.words import size, span

SERVER, LINK, CLOCK = "server", "link to the primary", "clocks"
#: If the clocks of two machines differ by more, the order of IDs is not the order of events.
CLOCKS_DIFFER_S = 1.0


def server_finding(patient: Patient) -> Finding:
    """Its program and role, and whether it serves."""
    role = "a replica" if patient.is_replica else "a primary"
    uptime_s = patient.number("uptime_in_seconds") or 0
    facts = {
        "program": patient.program,
        "role": "replica" if patient.is_replica else "primary",
        "uptime_s": uptime_s,
    }
    if patient.number("loading"):
        done = patient.text("loading_loaded_perc") or "?"
        return advice(
            SERVER,
            f"{patient.program} is loading its data ({done} %) and answers no other command yet",
            patient.address.command("INFO", "persistence"),
            **facts,
        )
    return ok(SERVER, f"{patient.program}, {role}, has been up for {span(uptime_s)}", **facts)


def clock_finding(patient: Patient) -> Finding:
    """Whether the server's clock agrees with ours, which matters if it is another machine."""
    told_us = patient.number("server_time_usec")
    if told_us is None:
        return unknown(CLOCK, "The server does not tell its time in INFO")
    differ_s = abs(told_us / 1e6 - patient.last.wall_s)
    facts = {"difference_ms": round(differ_s * 1000, 1)}
    if differ_s > CLOCKS_DIFFER_S:
        return advice(
            CLOCK,
            f"The server's clock and the one here differ by {span(differ_s)}: IDs follow the "
            "server's, so keep both right",
            "sudo timedatectl set-ntp true",
            **facts,
        )
    return ok(CLOCK, "The server's clock agrees with the one here", **facts)


def link_finding(patient: Patient) -> Finding:
    """The state of a replica's link."""
    primary = f"{patient.text('master_host')}:{patient.text('master_port')}"
    state = patient.text("master_link_status")
    facts = {"primary": primary, "link": state or None}
    if not state:
        return unknown(LINK, f"The server does not tell the state of its link to {primary}")
    if patient.number("master_sync_in_progress"):
        return _syncing(patient, primary)
    if state != "up":
        return _down(patient, primary)
    silent_s = patient.number("master_last_io_seconds_ago") or 0
    timeout_s = patient.setting("repl-timeout") or 60
    if silent_s > timeout_s // 2:
        return problem(
            LINK,
            f"The primary {primary} has said nothing for {span(silent_s)}; after "
            f"{span(timeout_s)} (repl-timeout) the link is given up",
            _ping(patient),
            silent_s=silent_s,
            **facts,
        )
    return ok(LINK, f"The link to {primary} is up", silent_s=silent_s, **facts)


def _down(patient: Patient, primary: str) -> Finding:
    since_s = patient.number("master_link_down_since_seconds")
    never = since_s is None or since_s < 0
    ago = "has never been up" if never else f"has been down for {span(since_s or 0)}"
    reason = patient.text("forebay_link_error")
    check = f" ({reason})" if reason else ": is the primary there, is masterauth its password?"
    return problem(
        LINK,
        f"The link to {primary} {ago}, and the data here is old{check}",
        _ping(patient),
        primary=primary,
        link="down",
        down_s=None if never else since_s,
    )


def _syncing(patient: Patient, primary: str) -> Finding:
    left = patient.number("master_sync_left_bytes")
    told = f", {size(left)} are left" if left is not None and left > 0 else ""
    return advice(
        LINK,
        f"A full sync from {primary} is under way{told}; until then the data here is old",
        patient.address.command("INFO", "replication"),
        primary=primary,
        link="sync",
        left_bytes=left,
    )


def _ping(patient: Patient) -> str:
    return f"redis-cli -h {patient.text('master_host')} -p {patient.text('master_port')} PING"


def read_only_finding(patient: Patient) -> Finding:
    """Whether clients may write to a replica."""
    if patient.number("slave_read_only") == 0:
        return advice(
            "writable replica",
            "Clients may write here, but their writes are lost at the next full sync",
            patient.address.setting("replica-read-only", "yes"),
        )
    return ok("writable replica", "Only the primary writes here")
