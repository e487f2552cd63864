# Types of pending.py.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.core.pel cimport Pending
from forebay.core.view cimport View
from forebay.mem cimport i64, u32, u64
from forebay.persistence.rdb.reader cimport RdbReader
from forebay.persistence.rdb.writer cimport RdbWriter

cdef i64 RECORD_WORDS
cdef u64 DELIVERIES_MAX
cdef u32 NOBODY, RELEASED


@cython.final
cdef class PendingTable:
    cdef public i64 count, done
    cdef array.array records, owned_by
    cdef public array.array zone
    cdef u64* w
    cdef u32* owners
    cdef i64 hint

    @cython.locals(w="u64*", end=i64, i=i64, at=i64, deliveries=u64)
    cpdef bint read(self, RdbReader reader, i64 limit) except -1
    @cython.locals(w="u64*", low=i64, high=i64, middle=i64)
    cdef i64 find(self, u64 ms, u64 seq) noexcept
    @cython.locals(_=i64, place=i64, ms=u64, seq=u64)
    cpdef int own(self, RdbReader reader, u32 owner_no, i64 count) except -1
    @cython.locals(place=i64)
    cpdef bint release(self, u64 ms, u64 seq, u32 owner_no) except -1
    @cython.locals(_=i64, ms=u64, seq=u64)
    cpdef int read_zone(self, RdbReader reader, i64 count) except -1
    @cython.locals(found=i64, i=i64)
    cpdef i64 owned(self, u32 owner_no) noexcept
    @cython.locals(w="u64*", cells="u32*", i=i64, at=i64)
    cpdef int fill(self, Pending pending) except -1


cpdef i64 write_pending(RdbWriter writer, Pending pending, i64 slot, i64 limit) except -2
cpdef i64 write_owned(RdbWriter writer, Pending pending, View view, i64 slot, i64 limit) except -2
@cython.locals(slot=i64, _=i64)
cpdef int write_zone(RdbWriter writer, Pending pending) except -1
