# Types of xack.py; see there.
cimport cython

from forebay.commands.streams cimport parsing
from forebay.commands.api.context cimport Context, Found
from forebay.core cimport group as core_group
from forebay.core cimport ids
from forebay.core.group cimport Group
from forebay.core.pel cimport Pending
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv

cdef Py_ssize_t FIRST_ID
cdef int DONE, KEPT, NOT_PENDING
cdef int ACKED, DELREF
cdef int SILENT, FAIL, FATAL
cdef i64 DELIVERIES_MAX, NO_RETRYCOUNT, NOBODY

@cython.locals(group=Group, acked=i64)
cpdef xack(Context ctx, Argv argv)

@cython.locals(ms=u64, seq=u64, i=Py_ssize_t, acked=i64, _=bint)
cdef i64 apply_xack(Group group, Argv argv) except -1
cdef int record_acks(Context ctx, Argv argv, i64 acked) except -1

@cython.locals(found=Found, stream=Stream, group=Group, policy=int, first=Py_ssize_t, numids=i64, length=u64, acked=i64, _=i64)
cpdef xackdel(Context ctx, Argv argv)
cdef record_shorter(Context ctx, bytes key)

@cython.locals(ms=u64, seq=u64, low_ms=u64, low_seq=u64, i=Py_ssize_t, acked=i64, _=bint)
cdef i64 apply_xackdel(Context ctx, Argv argv, Stream stream, Group group, int policy, Py_ssize_t first, i64 numids) except -1


@cython.final
cdef class Release:
    cdef public int mode
    cdef public Py_ssize_t first
    cdef public i64 numids, retrycount
    cdef public bint force

    @cython.locals(at=Py_ssize_t)
    cpdef read(self, Argv argv)
    cdef int read_mode(self, Argv argv) except -1
    @cython.locals(ok=bint, numids=i64)
    cdef Py_ssize_t read_ids(self, Argv argv, Py_ssize_t at) except -1
    @cython.locals(ok=bint, retrycount=i64)
    cpdef read_retrycount(self, Argv argv, Py_ssize_t at)
    cdef i64 deliveries(self, i64 before) noexcept

@cython.locals(key=bytes, stream=Stream, group=Group, release=Release, released=i64)
cpdef xnack(Context ctx, Argv argv)

@cython.locals(release=Release)
cdef Release parse_xnack(Argv argv)

@cython.locals(ms=u64, seq=u64, i=Py_ssize_t, released=i64, _=bint)
cdef i64 apply_xnack(Argv argv, Stream stream, Group group, Release release) except -1
cdef record_xnack(Context ctx, Argv argv, bytes key, i64 released)

@cython.locals(pending=Pending, slot=i64)
cdef bint release_one(Stream stream, Group group, Release release, u64 ms, u64 seq) except -1
