# Types of seals.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport u8, u32, u64
from forebay.persistence.aof cimport crc32
from forebay.wire.resp_writer cimport RespWriter

cdef Py_ssize_t SEAL
cdef u64 HALVES, QUARTERS, NIBBLES, SIXES, ONES, ZEROS, LETTER_GAP
cdef Py_ssize_t MULTI_SIZE
cdef bytes SELECT_WORD
cdef Py_ssize_t FIRST_BUFFER
cdef Py_ssize_t LARGEST_KEPT


@cython.locals(digits=u64, letters=u64)
cdef Py_ssize_t put_seal(u8* p, Py_ssize_t at, u32 crc) noexcept


cdef bint begins_with_select(const u8* p, Py_ssize_t at, Py_ssize_t end) noexcept


@cython.final
cdef class Sealer:
    cdef public u32 crc
    cdef readonly u32 next_crc
    cdef readonly bint is_sealed
    cdef readonly Py_ssize_t size
    cdef readonly bytearray buf
    cdef u8* p

    @cython.locals(
        n=Py_ssize_t, source="u8*", w="u64*", at=Py_ssize_t, crc=u32, o=Py_ssize_t, p="u8*",
        i=Py_ssize_t, end=Py_ssize_t,
    )
    cpdef Py_ssize_t seal(self, RespWriter units, array.array ends, bytes mark, bint is_due) except -1
    cdef int need(self, Py_ssize_t n) except -1
    cpdef int accept(self) except -1
    cpdef object view(self)
