# Types of call_counts.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.commands.api.spec cimport Command
from forebay.mem cimport i64, u64

cdef Py_ssize_t BUCKETS


@cython.final
cdef class CallCounts:
    cdef Py_ssize_t rows
    cdef list counts                    # the arrays of the five pointers that follow
    cdef u64* calls
    cdef u64* usec
    cdef u64* rejected_calls
    cdef u64* failed_calls
    cdef u64* times_at
    cdef array.array times
    cdef u64* t                         # the words of times; add_buckets() changes it

    @cython.locals(blank=bytes)
    cpdef reset(self)
    @cython.locals(n=Py_ssize_t, shift=int)
    cpdef int ran(self, Command row, i64 usec) except -1
    cdef int add_buckets(self, Py_ssize_t n) except -1
    cpdef rejected(self, Command row)
    cpdef failed(self, Command row)
    @cython.locals(n=Py_ssize_t, first=Py_ssize_t, buckets=list)
    cpdef object of(self, Command row)
