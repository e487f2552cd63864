"""INFO memory: memory in use, its parts, and the memory that the process holds.

commands/admin/memory_figures.py says what the numbers mean.  Scripts, functions and the
cluster do not exist here: their memory is really 0.
"""

from __future__ import annotations

from forebay.commands.admin.memory_figures import Figures, figures
from forebay.commands.api.context import Context
from forebay.server.info import usage

Fields = list[tuple[str, object]]


def zeros(names: str) -> Fields:
    """Fields about things that do not exist here."""
    return [(name, 0) for name in names.split()]


def human(size: int) -> str:
    """A size for people, as Redis prints it: 1.50M."""
    if size < 1024:
        return f"{size}B"
    power = min(5, (size.bit_length() - 1) // 10)
    return f"{size / (1 << 10 * power):.2f}{'BKMGTP'[power]}"


def memory(ctx: Context) -> Fields:
    """The whole section."""
    now = figures(ctx)
    system, limit = usage.system_bytes(), ctx.settings.maxmemory
    return [
        *_used(now, ctx.services.memory_peak_s()),
        ("total_system_memory", system),
        ("total_system_memory_human", human(system)),
        *_scripts(len(ctx.services.loaded_scripts)),
        ("maxmemory", limit),
        ("maxmemory_human", human(limit)),
        ("maxmemory_policy", ctx.settings.maxmemory_policy),
        *_fragmentation(now),
        *_buffers(now),
        ("mem_allocator", "python"),
        *zeros("mem_overhead_db_hashtable_rehashing active_defrag_running"),
        ("lazyfree_pending_objects", 0),
        ("lazyfreed_objects", ctx.services.stats.lazyfreed_objects),
    ]


def _used(now: Figures, peak_s: int) -> Fields:
    return [
        ("used_memory", now.used),
        ("used_memory_human", human(now.used)),
        ("used_memory_rss", now.resident),
        ("used_memory_rss_human", human(now.resident)),
        ("used_memory_peak", now.peak),
        ("used_memory_peak_human", human(now.peak)),
        ("used_memory_peak_time", peak_s),
        ("used_memory_peak_perc", f"{now.peak_percent:.2f}%"),
        ("used_memory_overhead", now.overhead),
        ("used_memory_startup", now.startup),
        ("used_memory_dataset", now.dataset),
        ("used_memory_dataset_perc", f"{now.dataset_percent:.2f}%"),
        ("allocator_allocated", now.used),
        ("allocator_active", now.resident),
        ("allocator_resident", now.resident),
        ("allocator_muzzy", 0),
    ]


def _scripts(loaded: int) -> Fields:
    return [
        *zeros("used_memory_lua used_memory_vm_eval"),
        ("used_memory_lua_human", human(0)),
        ("used_memory_scripts_eval", 0),
        ("number_of_cached_scripts", loaded),
        ("number_of_functions", 0),
        *zeros("number_of_libraries used_memory_vm_functions used_memory_vm_total"),
        ("used_memory_vm_total_human", human(0)),
        *zeros("used_memory_functions used_memory_scripts"),
        ("used_memory_scripts_human", human(0)),
    ]


def _fragmentation(now: Figures) -> Fields:
    ratio = f"{now.fragmentation:.2f}"
    return [
        ("allocator_frag_ratio", ratio),
        ("allocator_frag_bytes", max(0, now.fragmentation_bytes)),
        ("allocator_rss_ratio", "1.00"),
        ("allocator_rss_bytes", 0),
        ("rss_overhead_ratio", "1.00"),
        ("rss_overhead_bytes", 0),
        ("mem_fragmentation_ratio", ratio),
        ("mem_fragmentation_bytes", now.fragmentation_bytes),
    ]


def _buffers(now: Figures) -> Fields:
    return [
        ("mem_not_counted_for_evict", now.aof_buffer + now.replicas + now.backlog),
        ("mem_replication_backlog", now.backlog),
        ("mem_total_replication_buffers", now.backlog),
        ("mem_replica_full_sync_buffer", 0),
        ("mem_clients_slaves", now.replicas),
        ("mem_clients_normal", now.clients),
        *zeros("mem_cluster_slot_migration_output_buffer mem_cluster_slot_migration_input_buffer"),
        *zeros("mem_cluster_slot_migration_input_buffer_peak mem_cluster_links"),
        ("mem_aof_buffer", now.aof_buffer),
    ]
