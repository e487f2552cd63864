# Types of session.py; see there.
from forebay.core.keyspace cimport Database
from forebay.wire.resp_writer cimport RespWriter


cdef class Watch:
    cdef public Session session
    cdef public Database db
    cdef public bytes key
    cdef public bint expired
    cpdef invalidate(self)
    cpdef exchange(self, bint was_there, bint is_past)


cdef class Session:
    cdef public long long id
    cdef public Database db
    cdef public RespWriter out
    cdef public int gate
    cdef public object user
    cdef public bytes name, addr, laddr, lib_name, lib_ver
    cdef public bint authenticated, no_evict, no_touch, closing, is_replaying, is_primary, is_touched
    cdef public int fd
    cdef public long long created_ms, active_ms
    cdef public object last
    cdef public long long calls, bytes_in, bytes_out, query_bytes, query_room
    cdef public object link, peer
    cdef public long long wrote_at
    cdef public list queue
    cdef public long long queue_bytes
    cdef public int queue_flags
    cdef public bint queue_broken, watch_broken
    cdef public dict watched, channels, patterns, shard_channels
    cdef public object pushes, tracked
    cdef public object blocked, waited
    cpdef set_gate(self, int bit, bint on)
    cpdef int subscriptions(self) except -1
    cpdef refresh_subscribed(self)
    cpdef forget_queue(self)
    cpdef unwatch(self)
