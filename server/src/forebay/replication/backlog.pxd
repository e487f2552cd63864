# Types of backlog.py; see there.
cimport cython

from forebay cimport mem
from forebay.mem cimport i64, u8


@cython.final
cdef class Block:
    cdef public i64 start
    cdef public bytearray data
    cpdef i64 end(self)


@cython.final
cdef class Backlog:
    cdef public i64 size, first, end
    cdef public object blocks
    cdef public Block last
    cpdef append(self, const u8* src, Py_ssize_t at, Py_ssize_t n)
    cpdef bint has(self, i64 offset) except -1
    @cython.locals(block=Block)
    cpdef release(self, i64 needed)
    @cython.locals(i=Py_ssize_t, block=Block)
    cpdef Block block_at(self, i64 offset)
