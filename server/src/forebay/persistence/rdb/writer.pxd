# Types of writer.py.
cimport cython

from forebay cimport mem
from forebay.mem cimport i64, u8, u64
from forebay.persistence.rdb cimport crc64
from forebay.persistence.rdb.lzf cimport Compressor

cdef Py_ssize_t PIECE, SMALL, PLAIN_MAX, INTEGER_MAX
cdef int LENGTH_32, LENGTH_64, INT8, INT16, INT32, LZF


@cython.final
cdef class RdbWriter:
    cdef public object sink
    cdef public bint compress, checksum
    cdef Compressor compressor          # None until it is needed
    cdef public u64 crc
    cdef public i64 flushed
    cdef bytearray buf
    cdef u8* p
    cdef Py_ssize_t cap
    cdef public Py_ssize_t size

    cdef int need(self, Py_ssize_t room) except -1
    cdef int grow(self, Py_ssize_t wanted) except -1
    @cython.locals(data=bytes)
    cpdef int flush(self) except -1
    @cython.locals(crc=u64)
    cpdef int finish(self) except -1

    cpdef int byte(self, int value) except -1
    cpdef int le32(self, u64 value) except -1
    cpdef int le64(self, u64 value) except -1
    cpdef int entry_id(self, u64 ms, u64 seq) except -1
    @cython.locals(p="u8*", o="Py_ssize_t", i=int)
    cpdef int length(self, u64 value) except -1

    @cython.locals(n="Py_ssize_t")
    cpdef int raw(self, bytes data) except -1
    @cython.locals(n="Py_ssize_t")
    cpdef int string(self, bytes data) except -1
    @cython.locals(is_short=bint)
    cdef int span(self, const u8* src, Py_ssize_t at, Py_ssize_t n) except -1
    cdef int plain(self, const u8* src, Py_ssize_t at, Py_ssize_t n) except -1
    @cython.locals(compressor=Compressor, size="Py_ssize_t")
    cdef bint packed(self, const u8* src, Py_ssize_t at, Py_ssize_t n) except -1
    @cython.locals(ok=bint, value=i64, p="u8*", o="Py_ssize_t", bits=u64)
    cdef bint integer(self, const u8* src, Py_ssize_t at, Py_ssize_t n) except -1
