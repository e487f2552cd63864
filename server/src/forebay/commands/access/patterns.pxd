# Types of patterns.py; see there.
cimport cython

from forebay cimport mem
from forebay.mem cimport u8

cdef int EXACT, PREFIX, GLOB


@cython.final
cdef class Pattern:
    cdef public bytes text, head
    cdef public int permissions
    cdef readonly int kind
    cdef readonly Py_ssize_t size
    cdef readonly object glob
    cdef readonly dict known
    cdef const u8* p

    cdef bint fits(self, const u8* p, Py_ssize_t at, Py_ssize_t n) except -1
    cpdef bint fits_name(self, bytes name) except -1
    cpdef bint fits_glob(self, bytes name) except -1
