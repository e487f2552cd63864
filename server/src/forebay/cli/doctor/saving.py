"""The server's data on disk: the AOF, snapshots, and errors of either."""

from __future__ import annotations

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.patient import Patient
from forebay.cli.doctor.replicas import replicas_of
from forebay.cli.output import counted
from forebay.cli.words import size, span

KEPT, AOF, SAVED, UNSAVED, REWRITE = "persistence", "AOF", "snapshot", "unsaved changes", "rewrite"
#: Changes that are unsaved for longer than this are worth a word.
LONG_UNSAVED_S = 3600
#: An AOF is overgrown if it is this many times as large as after its last rewrite.
OVERGROWN = 8
OVERGROWN_BYTES = 1 << 30
#: With everysec, a sync may be a second late, while another one is at work.
LATE_SYNC_S = 3.0
IOSTAT = "iostat -x 1 5"


def kept_finding(patient: Patient) -> Finding:
    """Whether data survives a restart."""
    aof, points = patient.number("aof_enabled"), patient.settings.get("save")
    if aof is None or (not aof and points is None):
        return unknown(KEPT, "The server does not tell what it keeps on disk")
    turn_on = patient.address.setting("appendonly", "yes")
    if aof:
        return _synced(patient)
    if points:
        return advice(
            KEPT,
            "Only snapshots are written: a crash loses all writes after the last one; "
            "appendonly yes keeps each write",
            turn_on,
            aof=False,
            save=points,
        )
    if replicas_of(patient):
        return problem(
            KEPT,
            "Nothing is kept on disk, and there are replicas: if this server restarts, it is "
            "empty, and so are they a moment later",
            turn_on,
            aof=False,
            save="",
        )
    return advice(
        KEPT, "Nothing is kept on disk: a restart loses all data", turn_on, aof=False, save=""
    )


def _synced(patient: Patient) -> Finding:
    when = patient.settings.get("appendfsync", "")
    facts = {"aof": True, "appendfsync": when or None}
    if when == "no":
        return advice(
            KEPT,
            "The AOF is on and appendfsync is no: a loss of power loses what the system has not "
            "written yet, about half a minute",
            patient.address.setting("appendfsync", "everysec"),
            **facts,
        )
    loses = {
        "always": "a write is on disk before its reply",
        "everysec": "kill -9 loses nothing, a loss of power the last second at most",
    }
    told = loses.get(when, "the server does not tell when it syncs")
    return ok(KEPT, f"The AOF is on, appendfsync is {when or 'unknown'}: {told}", **facts)


def aof_findings(patient: Patient) -> list[Finding]:
    """Errors and delays of the AOF; nothing if it is off."""
    if not patient.number("aof_enabled"):
        return []
    errors = [_aof_errors(patient), _aof_growth(patient)]
    return [finding for finding in errors if finding is not None]


def _aof_errors(patient: Patient) -> Finding:
    reason = patient.text("aof_last_error")
    told = f" ({reason})" if reason else ""
    log = patient.address.command("INFO", "persistence")
    if patient.text("aof_last_write_status") not in ("ok", ""):
        return problem(
            AOF,
            f"The last write to the AOF failed{told}, and writes are refused: is the disk full?",
            log,
        )
    if patient.text("aof_last_bgrewrite_status") not in ("ok", ""):
        return problem(
            AOF,
            "The last rewrite of the AOF failed: it grows until one succeeds. The log says why; "
            "mostly it is memory or the disk",
            patient.address.command("BGREWRITEAOF"),
        )
    return _late_sync(patient) or _delays(patient)


def _late_sync(patient: Patient) -> Finding | None:
    """A late sync: Forebay tells how long bytes have been waiting for one."""
    age_s = (patient.number("aof_last_fsync_age_ms") or 0) / 1000
    if patient.settings.get("appendfsync") == "no" or age_s < LATE_SYNC_S:
        return None
    waiting = patient.number("aof_unsynced_bytes") or 0
    return problem(
        AOF,
        f"{size(waiting)} have been waiting for a sync for {span(age_s)}: a loss of power loses "
        "more than the last second",
        IOSTAT,
        late_s=age_s,
    )


def _delays(patient: Patient) -> Finding:
    delayed = patient.number("aof_delayed_fsync") or 0
    if patient.grown("aof_delayed_fsync"):
        return problem(
            AOF,
            f"Writers had to wait for the disk while it was watched ({delayed:,} times since the "
            "start)",
            IOSTAT,
            delayed=delayed,
        )
    if delayed:
        return advice(
            AOF,
            f"Writers had to wait for a slow disk {delayed:,} times since the start",
            IOSTAT,
            delayed=delayed,
        )
    return ok(AOF, "No write, rewrite or sync of the AOF has failed or was late", delayed=0)


def _aof_growth(patient: Patient) -> Finding | None:
    """Whether rewrites keep the file small."""
    now, base = patient.number("aof_current_size"), patient.number("aof_base_size")
    if now is None or base is None:
        return None
    facts = {"aof_bytes": now, "base_bytes": base}
    if now > OVERGROWN_BYTES and now > OVERGROWN * max(base, 1):
        return advice(
            REWRITE,
            f"The AOF is {size(now)}, and was {size(base)} after its last rewrite: a start reads "
            "all of it",
            patient.address.command("BGREWRITEAOF"),
            **facts,
        )
    return ok(
        REWRITE, f"The AOF is {size(now)}, after its last rewrite it was {size(base)}", **facts
    )


def snapshot_findings(patient: Patient) -> list[Finding]:
    """Whether snapshots succeed, and how many changes none of them holds."""
    status = patient.text("rdb_last_bgsave_status")
    if not status:
        return [unknown(SAVED, "The server does not tell how its last snapshot went")]
    if status != "ok":
        return [
            problem(
                SAVED,
                "The last snapshot failed: the log says why; mostly it is memory for the fork or "
                "the disk",
                patient.address.command("BGSAVE"),
            )
        ]
    return [ok(SAVED, "The last snapshot did not fail"), _unsaved(patient)]


def _unsaved(patient: Patient) -> Finding:
    changes, saved_s = (
        patient.number("rdb_changes_since_last_save"),
        patient.number("rdb_last_save_time"),
    )
    if changes is None or saved_s is None:
        return unknown(UNSAVED, "The server does not tell how much has changed since its snapshot")
    age_s = max(0.0, patient.now_s - saved_s)
    facts = {"changes": changes, "since_s": round(age_s)}
    said = f"{counted(changes, 'change').capitalize()} since the last snapshot, {span(age_s)} ago"
    if patient.number("aof_enabled"):
        return ok(UNSAVED, f"{said}; the AOF has all", **facts)
    if changes and age_s > LONG_UNSAVED_S:
        return advice(
            UNSAVED,
            f"{said}: a crash loses them",
            patient.address.command("BGSAVE"),
            **facts,
        )
    return ok(UNSAVED, said, **facts)
