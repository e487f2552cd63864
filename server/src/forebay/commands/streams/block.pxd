# Types of block.py; see there.
cimport cython

from forebay cimport mem
from forebay.mem cimport u8
from forebay.wire.resp_writer cimport RespWriter

cdef u8 DOLLAR
cdef Py_ssize_t WORD_BYTES, HEAD_ROOM

cdef Py_ssize_t padded(Py_ssize_t n) noexcept


@cython.final
cdef class Block:
    cdef RespWriter out
    cdef Py_ssize_t length_at, at, first_at, stop

    @cython.locals(out=RespWriter, p="u8*", o=Py_ssize_t, whole=Py_ssize_t)
    cdef int open(self, Py_ssize_t rows, Py_ssize_t parts, Py_ssize_t size) except -1
    @cython.locals(d="u8*", o=Py_ssize_t)
    cdef int add(self, const u8* p, Py_ssize_t n) except -1
    cdef int close(self) except -1
