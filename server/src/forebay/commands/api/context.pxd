# Types of context.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.effects cimport Effects
from forebay.commands.api.session cimport Session
from forebay.commands.api.spec cimport Command
from forebay.core.keyspace cimport Database, Keyspace
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef Py_ssize_t CACHE_SLOTS
cdef Py_ssize_t CACHED_KEY_BYTES


@cython.final
cdef class Cached:
    cdef bytes key
    cdef Py_ssize_t size
    cdef unsigned long long version
    cdef Database db
    cdef Stream stream


@cython.final
cdef class Context:
    cdef public Keyspace keyspace
    cdef public object settings, services
    cdef public Effects effects
    cdef public Database db
    cdef public Session session
    cdef public RespWriter out
    cdef public i64 now_ms
    cdef public bint may_block, keeps_expired
    cdef public Command queued
    cdef public bytes key
    cdef public int notify_flags
    cdef public i64 node_bytes, node_entries
    cdef list cache
    cpdef int use(self, Session session) except -1
    cpdef object lookup(self, bytes key)
    cpdef Stream lookup_stream(self, bytes key)
    @cython.locals(p="u8*", at=Py_ssize_t, n=Py_ssize_t, db=Database, entry=Cached)
    cpdef Stream stream_at(self, Argv argv, Py_ssize_t i)
    @cython.locals(stream=Stream)
    cpdef Stream read_stream(self, Argv argv, Py_ssize_t i)
    @cython.locals(h=u64, i=Py_ssize_t)
    cdef Cached slot(self, u8* p, Py_ssize_t at, Py_ssize_t n)
    @cython.locals(stream=Stream)
    cdef Stream fill_slot(self, Cached entry, bytes key)
    @cython.locals(entry=Cached)
    cpdef int forget_stale(self) except -1
    cpdef bint expired(self, bytes key) except -1
    cpdef expire(self, Database db, bytes key)
    cpdef bint delete(self, bytes key) except -1
    cpdef propagate(self, Argv argv, i64 changes=*)
    cpdef notify(self, int kind, bytes event, bytes key)
    cpdef notify_in(self, Database db, int kind, bytes event, bytes key)
