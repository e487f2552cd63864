# Types of lzf.py.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport i64, u8, u32, u64

cdef Py_ssize_t LITERAL_MAX, OFFSET_MAX, MATCH_MAX, SHORT_MATCH, MATCH_MIN, GAIN
cdef Py_ssize_t EXPANSION, FLOOR_MAX
cdef int HASH_BITS, HASH_SHIFT
cdef u64 HASH_FACTOR, LOW_24, LOW_32


@cython.final
cdef class Compressor:
    cdef array.array places
    cdef u32* cells
    cdef i64 floor
    cdef bytearray buf
    cdef u8* p
    cdef Py_ssize_t cap

    cdef int need(self, Py_ssize_t room) except -1
    cdef int prepare(self, Py_ssize_t n) except -1
    @cython.locals(slot="Py_ssize_t", before=i64)
    cdef i64 swap(self, u64 word, i64 place) noexcept
    @cython.locals(room="Py_ssize_t", floor=i64, base=i64, end="Py_ssize_t", o="Py_ssize_t", run="Py_ssize_t",
                   at="Py_ssize_t", size="Py_ssize_t", word=u64, found=i64, ref=i64, limit="Py_ssize_t")
    cdef Py_ssize_t squeeze(self, const u8* src, Py_ssize_t start, Py_ssize_t n) except -1
    @cython.locals(d="u8*")
    cdef (Py_ssize_t, Py_ssize_t) put_literal(self, Py_ssize_t o, Py_ssize_t run, u8 byte) noexcept
    @cython.locals(d="u8*")
    cdef Py_ssize_t put_copy(self, Py_ssize_t o, Py_ssize_t run, Py_ssize_t back, Py_ssize_t size) noexcept
    @cython.locals(d="u8*")
    cdef Py_ssize_t finish(self, const u8* src, Py_ssize_t at, Py_ssize_t end, Py_ssize_t o, Py_ssize_t run, Py_ssize_t room) noexcept


@cython.locals(end="Py_ssize_t", o="Py_ssize_t", head="Py_ssize_t", count="Py_ssize_t", back="Py_ssize_t")
cdef bint expand_into(const u8* src, Py_ssize_t at, Py_ssize_t n, u8* dst, Py_ssize_t size) noexcept
@cython.locals(size="Py_ssize_t", compressor=Compressor)
cpdef bytes compress(bytes data)
@cython.locals(room=bytearray)
cpdef bytes expand(bytes data, Py_ssize_t at, Py_ssize_t n, Py_ssize_t size)
