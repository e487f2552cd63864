# Types of nodes.py.
cimport cython

from forebay cimport mem
from forebay.core cimport listpack
from forebay.core.node cimport Node
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.persistence.rdb.reader cimport RdbReader
from forebay.persistence.rdb.writer cimport RdbWriter

cdef int DELETED, SAME, FLAGS_MAX, END
cdef i64 MANY
cdef Py_ssize_t COUNT_AT, ID_SIZE, NODE_MIN
cdef int BAD_HEADER, BAD_ELEMENT, BAD_COUNTER, BAD_FIELDS, BAD_FLAGS, BAD_ID, BAD_LENGTH, BAD_TOTALS

@cython.locals(head=int, low=i64)
cdef i64 element_size(const u8* p, Py_ssize_t at) noexcept
@cython.locals(size=i64, after="Py_ssize_t")
cpdef Py_ssize_t step(const u8* p, Py_ssize_t at, Py_ssize_t end) noexcept
@cython.locals(shift=int, flag=int)
cdef Py_ssize_t long_backlen(const u8* p, Py_ssize_t at, Py_ssize_t end, i64 size) noexcept


@cython.final
cdef class NodeCheck:
    cdef public u64 last_ms, last_seq, live_ms, live_seq
    cdef u64 node_ms, node_seq
    cdef public i64 nodes, total
    cdef public bint is_untidy
    cdef const u8* p
    cdef Py_ssize_t end
    cdef i64 elements, live, dead, nfields, value
    cdef int wrong

    @cython.locals(p="const u8*", head=int, after="Py_ssize_t", _="Py_ssize_t")
    cdef Py_ssize_t number(self, Py_ssize_t at) noexcept
    @cython.locals(after="Py_ssize_t")
    cdef Py_ssize_t counter(self, Py_ssize_t at) noexcept
    @cython.locals(p="const u8*", end="Py_ssize_t", head=int, size="Py_ssize_t")
    cdef Py_ssize_t skip(self, Py_ssize_t at, i64 count) noexcept
    @cython.locals(size="Py_ssize_t", wrong=int)
    cdef int check(self, Node node, bytes buf) except -1
    @cython.locals(at="Py_ssize_t", count=i64, deleted=i64)
    cdef int master(self, Node node, bytes buf) except -1
    @cython.locals(at="Py_ssize_t", flags=int)
    cdef int entries(self, Node node) noexcept
    @cython.locals(fields=i64, steps=i64)
    cdef Py_ssize_t content(self, Py_ssize_t at, bint same) noexcept
    @cython.locals(ms=u64, seq=u64)
    cdef Py_ssize_t entry_id(self, Node node, Py_ssize_t at, bint is_live) noexcept


@cython.locals(_="Py_ssize_t", start=i64, key=bytes, node=Node, wrong=int)
cpdef int read_nodes(RdbReader reader, Stream stream, NodeCheck check, Py_ssize_t count) except -1
@cython.locals(i="Py_ssize_t", node=Node)
cpdef int write_nodes(RdbWriter writer, list nodes, Py_ssize_t start, Py_ssize_t end) except -1
