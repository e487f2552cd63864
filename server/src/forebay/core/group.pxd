# Types of group.py.  deliver() and ack() run once per entry: all C inside.
cimport cython

from forebay cimport mem
from forebay.core.pel cimport Pending
from forebay.core.rax cimport Rax
from forebay.core.stream cimport Stream
from forebay.core.view cimport View
from forebay.mem cimport i64, u64

cdef i64 NOBODY, NEVER, UNKNOWN, GROUP_BYTES, CONSUMER_BYTES


@cython.final
cdef class Consumer:
    cdef public bytes name
    cdef public Py_ssize_t number
    cdef public View view
    cdef public i64 seen_ms, active_ms


@cython.final
cdef class Group:
    cdef public bytes name
    cdef public u64 last_ms, last_seq
    cdef public i64 entries_read
    cdef public Rax consumers
    cdef public Pending pending
    cdef public list numbered

    cpdef Consumer consumer(self, bytes name)
    @cython.locals(number="Py_ssize_t", consumer=Consumer, new=bint)
    cpdef Consumer create_consumer(self, bytes name, i64 now_ms)
    @cython.locals(consumer=Consumer)
    cpdef Py_ssize_t delete_consumer(self, bytes name) except -1
    cpdef Consumer consumer_by_number(self, Py_ssize_t number)
    @cython.locals(owner=Consumer)
    cpdef bytes owner_name(self, i64 slot)

    @cython.locals(slot=i64)
    cpdef int deliver(self, Stream stream, u64 ms, u64 seq, Consumer consumer, i64 now_ms, bint noack) except -1
    cdef int advance(self, Stream stream, u64 ms, u64 seq) except -1
    cpdef int claim(self, i64 slot, Consumer consumer, i64 now_ms, i64 time_ms) except -1
    @cython.locals(slot=i64)
    cpdef bint ack(self, u64 ms, u64 seq) except -1
    cpdef int nack(self, i64 slot, i64 deliveries) except -1


cpdef bint tombstones_ahead(Stream stream, u64 ms, u64 seq) except -1
@cython.locals(added=i64, last_ms=u64, last_seq=u64)
cpdef i64 estimate(Stream stream, u64 ms, u64 seq) except -2
cdef bint has_holes(Stream stream) except -1
@cython.locals(added=i64, first_ms=u64, first_seq=u64, behind=bint, number=i64)
cpdef object lag(Stream stream, Group group)

@cython.locals(low_ms=u64, low_seq=u64, group=Group)
cpdef (u64, u64) min_last_id(Stream stream) except *
@cython.locals(group=Group)
cpdef bint is_referenced(Stream stream, u64 ms, u64 seq, u64 low_ms, u64 low_seq) except -1
@cython.locals(group=Group, dropped="Py_ssize_t")
cpdef Py_ssize_t drop_references(Stream stream, u64 ms, u64 seq) except -1
