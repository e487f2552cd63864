cimport cython

from forebay cimport mem
from forebay.core cimport listpack
from forebay.core.node cimport Node
from forebay.core.rax cimport Rax
from forebay.mem cimport i64, u8, u32, u64

cdef int DELETED, SAME, END, SHORT_STRING, WIDE


@cython.locals(o="Py_ssize_t", ms_delta="i64", seq_delta="i64")
cdef inline (i64, i64, Py_ssize_t) deltas(const u8* p, Py_ssize_t at) noexcept


@cython.final
@cython.no_gc
cdef class Cursor:
    cdef public Rax nodes
    cdef public Node node
    cdef u8* p
    cdef public Py_ssize_t at, after, values_at
    cdef public u64 ms, seq
    cdef public Py_ssize_t pairs
    cdef public bint same, reverse
    cdef u64 start_ms, start_seq, end_ms, end_seq

    @cython.locals(node=Node)
    cpdef int open(self, u64 start_ms, u64 start_seq, u64 end_ms, u64 end_seq, bint reverse) except -1
    cdef int enter(self, Node node) except -1
    @cython.locals(at="Py_ssize_t")
    cdef int approach(self, Node node) except -1
    cdef bint is_first(self, Node node) noexcept
    cdef bint is_near_end(self, Node node) noexcept

    @cython.locals(at="Py_ssize_t")
    cpdef bint next(self) except -1

    @cython.locals(
        node=Node, p="const u8*", at="Py_ssize_t", stop="Py_ssize_t", ms="u64", seq="u64", node_ms="u64", node_seq="u64",
        pairs="Py_ssize_t", n="Py_ssize_t", o="Py_ssize_t", _="Py_ssize_t", head="int",
        ms_delta="i64", seq_delta="i64", values_at="Py_ssize_t")
    cdef Py_ssize_t gather(self, u32* spots, u64* ids, Py_ssize_t most, Py_ssize_t most_bytes) except -1

    @cython.locals(at="Py_ssize_t")
    cdef bint previous(self) except -1

    @cython.locals(node=Node, p="const u8*", flags="int", o="Py_ssize_t", ms_delta="i64", seq_delta="i64", pairs="i64")
    cdef bint read(self, Py_ssize_t at) except -1

    @cython.locals(p="const u8*", o="Py_ssize_t", steps="Py_ssize_t", _="Py_ssize_t")
    cdef Py_ssize_t skip_values(self) noexcept
    cdef bint is_early(self) noexcept
    cdef bint is_late(self) noexcept

    @cython.locals(p="const u8*", o="Py_ssize_t", f="Py_ssize_t", _="Py_ssize_t")
    cpdef list fields(self)
    cdef int bury(self) except -1
