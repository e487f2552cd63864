# Types of call_counts.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.commands.api.spec cimport Command
from forebay.mem cimport i64, u64

cdef Py_ssize_t FACTS, CALLS, USEC, REJECTED, FAILED, TIMES_AT, BUCKETS


@cython.final
cdef class CallCounts:
    cdef Py_ssize_t rows
    cdef array.array facts, times
    cdef u64* w                         # the words of facts
    cdef u64* t                         # the words of times; add_buckets() changes it

    cpdef reset(self)
    @cython.locals(at=Py_ssize_t, w="u64*", shift=int)
    cpdef int ran(self, Command row, i64 usec) except -1
    cdef int add_buckets(self, Py_ssize_t at) except -1
    cpdef rejected(self, Command row)
    cpdef failed(self, Command row)
    @cython.locals(at=Py_ssize_t, w="u64*", first=Py_ssize_t, buckets=list)
    cpdef object of(self, Command row)
