# Types of spec.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport u64


@cython.final
cdef class Command:
    cdef public bytes name, upper, full_name
    cdef public object handler, keys, categories, since, summary, group, syntax
    cdef public int arity, flags
    cdef public bint is_container, is_fast
    cdef public dict subcommands
    cdef public long long calls, usec, rejected_calls, failed_calls
    cdef public array.array buckets
    cdef u64* w                     # the words of buckets, from the first call on

    @cython.locals(shift=int)
    cpdef int ran(self, long long usec) except -1
    cpdef bint takes(self, Py_ssize_t n) except -1
