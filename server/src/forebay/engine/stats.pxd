# Types of stats.py; see there.
cimport cython

from forebay.core.keyspace cimport Keyspace


@cython.final
cdef class Stats:
    cdef public long long commands, connections, rejected_connections
    cdef public long long query_limit_disconnections, output_limit_disconnections
    cdef public long long expired_keys, expired_unasked, expire_us, evicted_keys, lazyfreed_objects
    cdef public long long error_replies, unblocked, faults, evicted_clients
    cdef public long long full_syncs, partial_syncs, refused_partial_syncs
    cdef public long long turns, turns_us, reads, writes
    cdef public dict errors, denied
    cdef public Keyspace keyspace
    cpdef reset(self)
    cpdef count_error(self, bytes code)
