# Types of columns.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.commands.api.context cimport Context
from forebay.core cimport ids, listpack
from forebay.core.cursor cimport Cursor
from forebay.core.node cimport Node
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u32, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef i64 ANSWER_BYTES
cdef u32 NOWHERE
cdef u8 DASH
cdef int SHORT_STRING, WIDE
cdef Py_ssize_t PART_ROOM, KEPT_COLUMNS, KEPT_BYTES, FIRST_ROOM, INTEGER_ROOM


cdef bytearray widened(const u8* p, Py_ssize_t size, Py_ssize_t room)


@cython.final
cdef class Column:
    cdef bytearray data, offsets, valid
    cdef u8* p
    cdef u8* o
    cdef u8* v
    cdef Py_ssize_t room, size, row_room, rows

    cdef int clear(self) except -1
    @cython.locals(head=int, behind=Py_ssize_t, n=Py_ssize_t)
    cdef Py_ssize_t put(self, const u8* p, Py_ssize_t at, Py_ssize_t row) except -1
    @cython.locals(value=i64, behind=Py_ssize_t, start=Py_ssize_t, n=Py_ssize_t)
    cdef Py_ssize_t put_wide(self, const u8* p, Py_ssize_t at) except -1
    @cython.locals(o=Py_ssize_t)
    cdef int put_id(self, u64 ms, u64 seq, Py_ssize_t row) except -1
    cdef inline int put_word(self, u64 value) except -1
    @cython.locals(low=Py_ssize_t, n=Py_ssize_t)
    cdef int repeat(self, Py_ssize_t row) except -1
    @cython.locals(low=Py_ssize_t)
    cdef bint has(self, Py_ssize_t row, const u8* p, Py_ssize_t at) except -1
    @cython.locals(i=Py_ssize_t)
    cdef int turn_to(self, Py_ssize_t row) except -1
    cdef inline int end(self, Py_ssize_t row) except -1
    cdef inline int need(self, Py_ssize_t n) except -1
    @cython.locals(had=Py_ssize_t)
    cdef int widen(self) except -1
    cdef Py_ssize_t wire_bytes(self) except -1
    cdef int write_offsets(self, RespWriter out) except -1
    cdef int write_data(self, RespWriter out) except -1
    cdef int write(self, RespWriter out, Py_ssize_t rows) except -1


cdef list SPARE
@cython.locals(column=Column)
cdef Column borrow()
cdef keep(Column column)


@cython.final
cdef class Pairs:
    cdef Py_ssize_t rows
    cdef Column keys, values, edges
    cdef bint alike
    cdef i64 width
    cdef Node node

    cdef bint begin(self, Cursor cursor) except -1
    @cython.locals(p="const u8*", at=Py_ssize_t, values=Column, _=Py_ssize_t)
    cdef Py_ssize_t add(self, Cursor cursor) except -1
    @cython.locals(at=Py_ssize_t, _=Py_ssize_t)
    cdef int add_keys(self, Cursor cursor) except -1
    cdef int end_entry(self) except -1
    @cython.locals(at=Py_ssize_t, i=Py_ssize_t)
    cdef bint is_alike(self, Cursor cursor) except -1
    @cython.locals(_=Py_ssize_t, i=Py_ssize_t)
    cdef int unfold(self) except -1
    cdef Py_ssize_t wire_bytes(self) except -1
    cdef int write(self, RespWriter out) except -1


@cython.locals(node=Node)
cdef Py_ssize_t first_key(Cursor cursor) except -1
@cython.locals(behind=Py_ssize_t)
cdef Py_ssize_t next_key(Cursor cursor, Py_ssize_t at) except -1


@cython.final
cdef class Sheet:
    cdef Py_ssize_t rows
    cdef i64 size
    cdef list names, columns
    cdef Node node
    cdef array.array wanted
    cdef bint with_ids, as_map
    cdef Column ms, seq, ids
    cdef Pairs pairs

    cdef bint add(self, Cursor cursor) except -1
    @cython.locals(p="const u8*", at=Py_ssize_t, wanted="u32*", i=Py_ssize_t, _=Py_ssize_t, place=u32)
    cdef Py_ssize_t pick(self, Cursor cursor) except -1
    @cython.locals(column=Column)
    cdef Py_ssize_t take(self, u32 place, const u8* p, Py_ssize_t at) except -1
    @cython.locals(node=Node, wanted="u32*", at=Py_ssize_t, i=Py_ssize_t)
    cdef int learn(self, Cursor cursor) except -1
    @cython.locals(i=Py_ssize_t, name=bytes)
    cdef u32 place_of(self, const u8* p, Py_ssize_t at) except? 0
    @cython.locals(room=Py_ssize_t, i=Py_ssize_t, column=Column)
    cdef int write(self, RespWriter out) except -1
    @cython.locals(pairs=Pairs, column=Column)
    cdef give_back(self)


@cython.locals(w="const u64*", start_ms=u64, start_seq=u64, end_ms=u64, end_seq=u64, sheet=Sheet, stream=Stream, cursor=Cursor)
cpdef columns(Context ctx, Argv argv)
cdef int fill(Sheet sheet, Cursor cursor, i64 count) except -1
