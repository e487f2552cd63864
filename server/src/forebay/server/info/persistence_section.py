"""INFO persistence: what is on disk, how safe it is, what is under way.

Besides the fields of Redis, these answer the questions of an operator after a
crash, or before one:

    aof_last_fsync_age_ms       how long ago everything written was on disk
    aof_unsynced_bytes          acknowledged, and lost if the power fails now
    aof_acked_offset            bytes of AOF written since the start ...
    aof_synced_offset           ... and how many of them are on disk
    aof_last_error              the last error of the disk; empty if there was none
    aof_rewrite_progress_perc   how far the child is
    rdb_save_progress_perc
"""

from __future__ import annotations

from forebay.commands.api import gates
from forebay.commands.api.services import REWRITE, SAVE, SYNC
from forebay.server.durability.children import Child
from forebay.server.durability.durability import Durability

Fields = list[tuple[str, object]]


def persistence(durability: Durability, reads_copy: bool) -> Fields:
    """The whole section; ``reads_copy``: the server is loading all data of a primary."""
    return [
        *_now(durability, reads_copy),
        *_snapshot(durability),
        *_aof(durability),
        ("module_fork_in_progress", 0),
        ("module_fork_last_cow_size", 0),
        *_aof_files(durability),
        *_loading(durability),
    ]


def _now(durability: Durability, reads_copy: bool) -> Fields:
    child = durability.children.current
    is_loading = bool(durability.engine.gate & gates.LOADING)
    return [
        ("loading", int(is_loading)),
        ("async_loading", int(reads_copy and not is_loading)),
        ("current_cow_peak", child.copied_peak_bytes if child else 0),
        ("current_cow_size", child.copied_bytes if child else 0),
        ("current_cow_size_age", 0),
        ("current_fork_perc", f"{_percent(durability, child):.2f}"),
        ("current_save_keys_processed", child.keys_done if child else 0),
        ("current_save_keys_total", child.keys_total if child else 0),
    ]


def _percent(durability: Durability, child: Child | None) -> float:
    return 0.0 if child is None else durability.progress.percent(child)


def _child_s(durability: Durability, kind: str) -> int:
    """How long such a child has been at work; -1 if there is none."""
    child = durability.children.current
    if child is None or child.kind != kind:
        return -1
    return (durability.clock.monotonic_ms() - child.started_ms) // 1000


def _progress(durability: Durability, kind: str) -> str:
    child = durability.children.current
    is_it = child is not None and child.kind == kind
    return f"{_percent(durability, child) if is_it else 0.0:.2f}"


def _status(is_ok: bool) -> str:
    return "ok" if is_ok else "err"


def _snapshot(durability: Durability) -> Fields:
    job = durability.save_job
    return [
        ("rdb_changes_since_last_save", job.changes),
        ("rdb_bgsave_in_progress", int(durability.job in (SAVE, SYNC))),
        ("rdb_last_save_time", job.last_save_s),
        ("rdb_last_bgsave_status", _status(job.is_ok)),
        ("rdb_last_bgsave_time_sec", job.last_s),
        ("rdb_current_bgsave_time_sec", _child_s(durability, SAVE)),
        ("rdb_saves", job.done),
        ("rdb_saves_consecutive_failures", job.failures),
        ("rdb_last_cow_size", job.copied_bytes),
        ("rdb_last_load_keys_expired", durability.loading.keys_expired),
        ("rdb_last_load_keys_loaded", durability.loading.keys_loaded),
        ("rdb_save_progress_perc", _progress(durability, SAVE)),
    ]


def _aof(durability: Durability) -> Fields:
    job, live = durability.rewrite_job, durability.live
    return [
        ("aof_enabled", int(durability.aof_is_on)),
        ("aof_rewrite_in_progress", int(durability.job == REWRITE)),
        ("aof_rewrite_scheduled", int(REWRITE in durability.schedule.scheduled)),
        ("aof_last_rewrite_time_sec", job.last_s),
        ("aof_current_rewrite_time_sec", _child_s(durability, REWRITE)),
        ("aof_last_bgrewrite_status", _status(job.is_ok)),
        ("aof_rewrites", job.done),
        ("aof_rewrites_consecutive_failures", job.failures),
        ("aof_last_write_status", _status(not live.trouble)),
        ("aof_last_cow_size", job.copied_bytes),
        ("aof_last_error", live.last_error),
        ("aof_rewrite_progress_perc", _progress(durability, REWRITE)),
        ("backup_in_progress", int(durability.backup.is_active)),
    ]


def _aof_files(durability: Durability) -> Fields:
    live, aof = durability.live, durability.live.aof
    if aof is None:
        return []
    unsynced = aof.offset - aof.synced_offset
    age_ms = durability.clock.monotonic_ms() - live.synced_ms if unsynced else 0
    return [
        ("aof_current_size", aof.current_size),
        ("aof_base_size", aof.base_size),
        ("aof_pending_rewrite", int(aof.is_pending)),
        ("aof_buffer_length", live.engine.effects.out.size),
        ("aof_pending_bio_fsync", int(live.syncer.is_busy)),
        ("aof_delayed_fsync", live.delayed_syncs),
        ("aof_last_fsync_age_ms", age_ms),
        ("aof_unsynced_bytes", unsynced),
        ("aof_acked_offset", aof.offset),
        ("aof_synced_offset", aof.synced_offset),
    ]


def _loading(durability: Durability) -> Fields:
    loading = durability.loading
    if not loading.is_running:
        return []
    return [
        ("loading_start_time", loading.started_ms // 1000),
        ("loading_total_bytes", loading.total_bytes),
        ("loading_rdb_used_mem", 0),
        ("loading_loaded_bytes", loading.loaded_bytes),
        ("loading_loaded_perc", f"{loading.percent:.2f}"),
        ("loading_eta_seconds", loading.eta_s),
    ]
