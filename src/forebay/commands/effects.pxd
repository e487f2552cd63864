# Types of effects.py; see there.
cimport cython
from cpython cimport array

from forebay.wire.argv cimport Argv
from forebay.wire.reply cimport Reply

cdef int NO_DATABASE


@cython.final
cdef class Effects:
    cdef public bint enabled, is_open
    cdef public Py_ssize_t count
    cdef public long long total
    cdef public int db_index, selected
    cdef public Reply out
    cdef public Py_ssize_t mark
    cdef public array.array ends
    cpdef int begin(self) except -1
    cpdef int end(self) except -1
    @cython.locals(i=Py_ssize_t)
    cpdef verbatim(self, Argv argv)
    @cython.locals(i=Py_ssize_t)
    cpdef replaced(self, Argv argv, Py_ssize_t at, bytes new)
    cpdef int head(self, Py_ssize_t n) except -1
    cpdef int select(self) except -1
    cpdef bytes take(self)
    cpdef forget_database(self)
