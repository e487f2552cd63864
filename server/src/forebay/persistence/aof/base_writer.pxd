# Types of base_writer.py; see there.
cimport cython

from forebay.mem cimport u32
from forebay.persistence.aof cimport crc32
from forebay.wire.resp_writer cimport RespWriter

cdef Py_ssize_t STRETCH_BYTES


@cython.final
cdef class BaseWriter:
    cdef object sink
    cdef public RespWriter out
    cdef u32 crc

    @cython.locals(out=RespWriter, word=bytes)
    cpdef int command(self, list words) except -1
    cpdef bint flush_if_full(self) except -1
    cpdef int flush(self) except -1
