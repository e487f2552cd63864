cimport cython

from forebay cimport mem
from forebay.core cimport listpack
from forebay.core.node cimport Node
from forebay.core.rax cimport Rax
from forebay.mem cimport i64, u8, u64

cdef int DELETED, SAME, END


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
