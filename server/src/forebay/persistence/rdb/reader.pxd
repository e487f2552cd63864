# Types of reader.py.
cimport cython

from forebay cimport mem
from forebay.core cimport listpack
from forebay.mem cimport i64, u8, u64
from forebay.persistence.rdb cimport crc64
from forebay.persistence.rdb cimport lzf

cdef Py_ssize_t WINDOW, SCRATCH_KEPT
cdef bytes PADDING
cdef int LENGTH_32, LENGTH_64, INT8, INT32, LZF


@cython.final
cdef class RdbReader:
    cdef public object read
    cdef public i64 size, base
    cdef bytes window
    cdef const u8* p
    cdef public Py_ssize_t at
    cdef Py_ssize_t end, summed
    cdef public u64 crc
    cdef bytearray scratch
    cdef Py_ssize_t room
    cdef const u8* src
    cdef Py_ssize_t src_at, src_len

    cpdef i64 left(self) noexcept
    cpdef object fail(self, str what)
    cdef int need(self, Py_ssize_t n) except -1
    @cython.locals(have="Py_ssize_t", wanted=i64, more=i64, data=bytes, piece=bytes)
    cdef int slide(self, Py_ssize_t n) except -1
    cpdef u64 sum_up(self) except? 0

    @cython.locals(value=int)
    cpdef int byte(self) except -1
    cpdef u64 le(self, int size) except? 0
    cpdef u64 be64(self) except? 0
    @cython.locals(value=i64)
    cpdef i64 time_ms(self) except -1
    @cython.locals(head=u64, low=u64, value=u64, i=int)
    cpdef u64 length(self) except? 0
    @cython.locals(start=i64, value=u64)
    cpdef i64 count(self, i64 each) except -1

    @cython.locals(head=int)
    cdef int fetch(self) except -1
    @cython.locals(size=u64)
    cdef int plain(self) except -1
    @cython.locals(start=i64, packed=u64, size=u64)
    cdef int unpack(self) except -1
    cdef int make_room(self, Py_ssize_t size) except -1
    @cython.locals(size=int, value=i64, text=bytes)
    cdef int number(self, int head) except -1
    cpdef bytes string(self)
    cpdef bytes padded_string(self)
    cdef Py_ssize_t readable(self) noexcept
    cpdef bytes raw(self, Py_ssize_t n)
    @cython.locals(step="Py_ssize_t")
    cpdef int skip(self, u64 n) except -1
    @cython.locals(size=u64)
    cpdef int skip_string(self) except -1
