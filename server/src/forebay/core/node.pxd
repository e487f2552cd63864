cimport cython

from forebay cimport mem
from forebay.core cimport listpack
from forebay.mem cimport i64, u8, u64

cdef int DELETED, SAME, END, MANY, SMALL, SHORT, SHORT_HEAD
cdef Py_ssize_t COUNT_AT, START_ROOM
cdef bytes PADDING


@cython.final
@cython.no_gc
cdef class Node:
    cdef public u64 ms, seq
    cdef public object buf
    cdef u8* p
    cdef Py_ssize_t cap
    cdef public Py_ssize_t size
    cdef public i64 elements, count, deleted, nfields
    cdef public Py_ssize_t fields_at, entries_at

    @cython.locals(p="u8*", o="Py_ssize_t", total="Py_ssize_t", i="Py_ssize_t", k="Py_ssize_t")
    cdef int start(self, const u8* src, const u64* w, Py_ssize_t first, Py_ssize_t pairs) except -1

    @cython.locals(p="u8*", o="Py_ssize_t", i="Py_ssize_t", steps="Py_ssize_t", same="bint")
    cdef int append(self, u64 ms, u64 seq, const u8* src, const u64* w, Py_ssize_t first, Py_ssize_t pairs, Py_ssize_t size) except -1

    @cython.locals(p="u8*", o="Py_ssize_t", i="Py_ssize_t", n="Py_ssize_t")
    cdef bint has_fields(self, const u8* src, const u64* w, Py_ssize_t first, Py_ssize_t pairs) noexcept

    @cython.locals(p="u8*")
    cdef int finish(self, Py_ssize_t end, Py_ssize_t added) except -1

    @cython.locals(wanted="Py_ssize_t")
    cdef int need(self, Py_ssize_t room) except -1
    cdef int grow(self, Py_ssize_t wanted) except -1
    cpdef int seal(self) except -1
    cdef int hold(self, bytes sealed) except -1
    cdef int unseal(self) except -1
    cdef int set_counts(self, i64 count, i64 deleted) except -1

    @cython.locals(after="Py_ssize_t", shift="Py_ssize_t")
    cdef int replace_int(self, Py_ssize_t at, i64 value) except -1
    cdef int bury(self, Py_ssize_t at) except -1

    @cython.locals(at="Py_ssize_t", o="Py_ssize_t", ms_delta="i64", seq_delta="i64", _="Py_ssize_t")
    cpdef (u64, u64) last_record(self)

    @cython.locals(p="u8*", at="Py_ssize_t", steps="i64", _="Py_ssize_t")
    cdef Py_ssize_t before(self, Py_ssize_t end) noexcept
    cpdef bytes blob(self)

    cdef int load(self, bytes buf, i64 count, i64 deleted, i64 nfields, Py_ssize_t fields_at) except -1

    @cython.locals(twin=Node)
    cpdef Node copy(self)
