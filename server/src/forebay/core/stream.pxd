cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.core cimport ids
from forebay.core.cursor cimport Cursor
from forebay.core.node cimport Node
from forebay.core.rax cimport Rax
from forebay.mem cimport i64, u8, u64

cdef u64 COUNTER_MAX
cdef i64 NODE_BYTES_MAX, STREAM_BYTES, NODE_BYTES, TREE_KEY_BYTES


@cython.final
cdef class Stream:
    cdef public Rax nodes, groups
    cdef public Node tail
    cdef public u64 length, first_ms, first_seq, last_ms, last_seq, maxdel_ms, maxdel_seq, entries_added
    cdef public object idmp
    cdef public i64 idmp_duration_s, idmp_maxsize, iids_added, iids_duplicates

    @cython.locals(node=Node)
    cdef int append(self, u64 ms, u64 seq, const u8* src, const u64* w, Py_ssize_t first, Py_ssize_t pairs, Py_ssize_t size, i64 node_bytes, i64 node_entries) except -1
    @cython.locals(spans=array.array, joined=bytes, words="u64*", at="Py_ssize_t")
    cpdef int add(self, u64 ms, u64 seq, list flat, i64 node_bytes=*, i64 node_entries=*) except -1
    cdef bint is_full(self, Node node, Py_ssize_t size, i64 node_bytes, i64 node_entries) noexcept

    @cython.locals(node=Node)
    cdef Node new_tail(self, u64 ms, u64 seq, const u8* src, const u64* w, Py_ssize_t first, Py_ssize_t pairs)
    cpdef Cursor cursor(self)

    @cython.locals(cursor=Cursor)
    cpdef Cursor find(self, u64 ms, u64 seq)
    cpdef bint exists(self, u64 ms, u64 seq) except -1

    @cython.locals(cursor=Cursor)
    cpdef list get(self, u64 ms, u64 seq)

    @cython.locals(cursor=Cursor)
    cpdef (bint, u64, u64) last_live(self)

    @cython.locals(last_ms=u64, last_seq=u64, _=bint)
    cpdef bint has_after(self, u64 ms, u64 seq) except -1

    @cython.locals(cursor=Cursor)
    cpdef bint delete(self, u64 ms, u64 seq) except -1

    @cython.locals(node=Node)
    cdef int bury(self, Cursor cursor) except -1
    cdef int drop_node(self, Node node) except -1

    @cython.locals(cursor=Cursor)
    cdef int find_first(self) except -1

    @cython.locals(node=Node)
    cpdef i64 used_bytes(self) except -1

    @cython.locals(twin=Stream, node=Node)
    cpdef Stream copy(self)
