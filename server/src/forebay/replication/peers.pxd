# Types of peers.py; see there.
cimport cython

from forebay.mem cimport i64

cdef i64 NOWHERE


@cython.final
cdef class Peer:
    cdef public i64 number
    cdef public str host, announced_host, version, state, fault
    cdef public int port
    cdef public set capabilities
    cdef public bint is_attached, rdb_only, rdb_without_data, is_old, waits_for_ack
    cdef public i64 position, acked, synced, heard_ms
    cpdef bint is_online(self) except -1
    cpdef bint streams(self) except -1
    cpdef hear(self, i64 acked, i64 synced, i64 now_ms)
    cpdef i64 lag_s(self, i64 now_ms) except? -1


@cython.final
cdef class Peers:
    cdef public dict by_number
    cpdef add(self, Peer peer)
    cpdef remove(self, Peer peer)
    @cython.locals(peer=Peer)
    cpdef i64 needed(self, i64 end) except? -1
    @cython.locals(peer=Peer, count=int)
    cpdef int count_acked(self, i64 offset) except -1
    @cython.locals(peer=Peer, count=int)
    cpdef int count_synced(self, i64 offset) except -1
    @cython.locals(peer=Peer, count=int, since_ms=i64)
    cpdef int count_good(self, i64 now_ms, i64 max_lag_s) except -1
