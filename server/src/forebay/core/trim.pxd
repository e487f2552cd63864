cimport cython

from forebay cimport mem
from forebay.core.cursor cimport Cursor
from forebay.core.node cimport Node
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64

cdef int DELETED, END


@cython.final
cdef class Trimmer:
    cdef public bint by_length, approx, by_node
    cdef public u64 maxlen, min_ms, min_seq
    cdef public i64 limit
    cdef public int policy
    cdef u64 floor_ms, floor_seq
    cdef public Node stop

    @cython.locals(removed="i64", node=Node, following=Node, whole="bint")
    cpdef i64 apply(self, Stream stream) except -1

    cdef bint depends_on_nodes(self) noexcept
    cdef bint is_over(self, Node node, i64 removed, bint whole) noexcept

    @cython.locals(last_ms="u64", last_seq="u64")
    cdef bint takes_whole(self, Stream stream, Node node) except -1

    @cython.locals(cursor=Cursor, p="u8*", at="Py_ssize_t", buried="i64", live="bint")
    cdef i64 trim_inside(self, Stream stream, Node node) except -1
    cdef bint reached(self, Stream stream, u64 ms, u64 seq) noexcept
    cdef bint may_go(self, Stream stream, u64 ms, u64 seq) except -1
