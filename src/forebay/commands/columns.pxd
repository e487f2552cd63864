# Types of columns.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.core cimport ids, listpack
from forebay.core.cursor cimport Cursor
from forebay.core.node cimport Node
from forebay.mem cimport i64, u8, u32, u64
from forebay.wire.argv cimport Argv
from forebay.wire.reply cimport Reply

cdef i64 ANSWER_BYTES
cdef u32 NOWHERE
cdef Py_ssize_t FIRST_ROOM, INTEGER_ROOM


@cython.final
cdef class Column:
    cdef bytearray data, offsets, valid
    cdef u8* p
    cdef u8* o
    cdef Py_ssize_t room, size, offset_room, rows, row_at
    cdef bint has_value

    @cython.locals(value=i64, behind=Py_ssize_t, start=Py_ssize_t, n=Py_ssize_t)
    cdef Py_ssize_t put(self, const u8* p, Py_ssize_t at) except -1
    @cython.locals(wider=bytearray)
    cdef int need(self, Py_ssize_t n) except -1
    @cython.locals(wider=bytearray)
    cdef int end_row(self) except -1
    cdef int write_offsets(self, Reply out) except -1
    cdef int write_data(self, Reply out) except -1


@cython.final
cdef class Numbers:
    cdef bytearray data
    cdef u8* p
    cdef Py_ssize_t room, size

    @cython.locals(wider=bytearray)
    cdef int put(self, u64 value) except -1
    cdef int write(self, Reply out) except -1


@cython.final
cdef class Sheet:
    cdef Numbers ms, seq
    cdef Py_ssize_t rows
    cdef list names, columns
    cdef Node node
    cdef array.array wanted
    cdef Column keys, values, pairs

    cdef int add(self, Cursor cursor) except -1
    @cython.locals(p="const u8*", at=Py_ssize_t, wanted="u32*", i=Py_ssize_t, _=Py_ssize_t, place=u32, column=Column)
    cdef int pick(self, Cursor cursor) except -1
    @cython.locals(column=Column)
    cdef Py_ssize_t take(self, u32 place, const u8* p, Py_ssize_t at) except -1
    @cython.locals(node=Node, wanted="u32*", at=Py_ssize_t, i=Py_ssize_t)
    cdef int learn(self, Cursor cursor) except -1
    @cython.locals(i=Py_ssize_t, name=bytes)
    cdef u32 place_of(self, const u8* p, Py_ssize_t at) except? 0
    @cython.locals(node=Node, p="const u8*", at=Py_ssize_t, field=Py_ssize_t, keys=Column, values=Column, _=Py_ssize_t)
    cdef int spread(self, Cursor cursor) except -1
    @cython.locals(total=i64, i=Py_ssize_t, column=Column)
    cdef i64 bytes_so_far(self) except -1
    @cython.locals(i=Py_ssize_t, column=Column)
    cdef int write(self, Reply out) except -1


cdef int fill(Sheet sheet, Cursor cursor, i64 count) except -1
