cimport cython

from forebay cimport mem
from forebay.core cimport listpack
from forebay.core.cursor cimport Cursor
from forebay.core.node cimport Node
from forebay.mem cimport i64, u8, u64
from forebay.wire cimport resp_writer
from forebay.wire.resp_writer cimport RespWriter

cdef Py_ssize_t ELEMENT_ROOM, ENTRY_ROOM
cdef int DOLLAR, STAR

@cython.locals(minus="bint", size="u64", n="int")
cdef Py_ssize_t put_integer(u8* d, Py_ssize_t o, i64 value) noexcept

@cython.locals(head="int", n="Py_ssize_t")
cdef (Py_ssize_t, Py_ssize_t) put_element(u8* d, Py_ssize_t o, const u8* p, Py_ssize_t at) noexcept

@cython.locals(value="i64", start="Py_ssize_t", n="Py_ssize_t")
cdef (Py_ssize_t, Py_ssize_t) put_wide(u8* d, Py_ssize_t o, const u8* p, Py_ssize_t at) noexcept

@cython.locals(node=Node, pairs="Py_ssize_t", d="u8*", p="const u8*", o="Py_ssize_t", at="Py_ssize_t", f="Py_ssize_t", _="Py_ssize_t")
cpdef int entry(RespWriter out, Cursor cursor, int size) except -1

@cython.locals(mark="Py_ssize_t", n="i64")
cpdef i64 entries(RespWriter out, Cursor cursor, i64 limit, i64 guess) except -1
