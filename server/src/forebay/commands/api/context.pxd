# Types of context.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.effects cimport Effects
from forebay.commands.api.session cimport Session
from forebay.commands.api.spec cimport Command
from forebay.commands.api.waits cimport Waits
from forebay.core.keyspace cimport Database, Keyspace
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter, WriterPool

cdef Py_ssize_t CACHE_SLOTS
cdef Py_ssize_t CACHED_KEY_BYTES


@cython.final
cdef class Found:
    cdef readonly bytes key
    cdef readonly Stream stream
    cdef Database db
    cdef unsigned long long version


@cython.final
cdef class Context:
    cdef public Keyspace keyspace
    cdef public object settings, services
    cdef public Waits waits
    cdef public Effects effects
    cdef public Database db
    cdef public Session session
    cdef public RespWriter reply
    cdef public i64 now_ms
    cdef public bint may_block, keeps_expired
    cdef public Command queued
    cdef public int notify_flags
    cdef public i64 node_bytes, node_entries
    cdef list cache
    cdef Found uncached
    cdef unsigned long long fresh_versions
    cdef public WriterPool writer_pool
    cdef public object xadd_options, spare_read, spare_group_read
    cdef public list spare_columns
    cpdef int use(self, Session session) except -1
    cpdef object lookup(self, bytes key)
    cpdef Stream lookup_stream(self, bytes key)
    @cython.locals(p="u8*", at=Py_ssize_t, n=Py_ssize_t, db=Database, slot=Py_ssize_t, found=Found)
    cpdef Found find_stream(self, Argv argv, Py_ssize_t i)
    @cython.locals(found=Found)
    cpdef Found read_stream(self, Argv argv, Py_ssize_t i)
    @cython.locals(h=u64, i=Py_ssize_t)
    cdef Py_ssize_t slot(self, const u8* p, Py_ssize_t at, Py_ssize_t n) noexcept
    @cython.locals(stream=Stream, found=Found)
    cdef Found look_up(self, Py_ssize_t slot, bytes key)
    @cython.locals(versions="unsigned long long", db=Database, found=Found)
    cpdef void forget_stale(self) except *
    cpdef bint expired(self, bytes key) except -1
    cpdef expire(self, Database db, bytes key)
    cpdef bint delete(self, bytes key) except -1
    cpdef block(
        self, int kind, list keys, long long timeout_ms, Argv argv,
        bint on_missing_key=*, object wake_at_ms=*, object on_timeout=*,
    )
    cpdef bint block_as_before(self, int kind, long long timeout_ms, Argv argv) except -1
    cpdef notify(self, int kind, bytes event, bytes key)
    cpdef notify_in(self, Database db, int kind, bytes event, bytes key)
