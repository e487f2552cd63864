# Types of deadlines.py; see there.
cimport cython

from forebay.mem cimport i64

cdef Py_ssize_t FEW_CANCELLED


@cython.final
cdef class Deadline:
    cdef public i64 at_ms, number
    cdef public object what


@cython.final
cdef class Deadlines:
    cdef public list heap
    cdef public i64 number
    cdef public Py_ssize_t cancelled

    cpdef Deadline add(self, i64 at_ms, object what)
    @cython.locals(kept=Deadline)
    cpdef cancel(self, Deadline entry)
    @cython.locals(entry=Deadline, at_ms=object)
    cpdef shift(self, i64 by_ms)
    @cython.locals(heap=list, entry=Deadline)
    cpdef i64 next_ms(self) except? -2
    @cython.locals(soonest_ms="i64")
    cdef bint is_due(self, i64 now_ms) except -1
    @cython.locals(due=list, entry=Deadline)
    cpdef list pop_due(self, i64 now_ms)
