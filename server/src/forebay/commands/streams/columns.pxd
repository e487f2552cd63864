# Types of columns.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.commands.api.context cimport Context
from forebay.commands.streams cimport block
from forebay.commands.streams.block cimport Block
from forebay.commands.streams.column cimport Column
from forebay.core cimport ids, listpack
from forebay.core.cursor cimport Cursor
from forebay.core.node cimport Node
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u32, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef i64 ANSWER_BYTES
cdef u32 NOWHERE
cdef Py_ssize_t KEPT_COLUMNS, KEPT_BYTES, RUN_ROWS, RUN_VALUES, STEM_ROOM


@cython.locals(column=Column)
cdef Column borrow(list spare)
cdef keep(list spare, Column column)


@cython.final
cdef class Run:
    cdef Py_ssize_t rows, pairs
    cdef const u8* p
    cdef array.array values, halves
    cdef u32* spots
    cdef u64* ids

    @cython.locals(rows=Py_ssize_t)
    cdef int take(self, Cursor cursor, Py_ssize_t most, Py_ssize_t most_bytes) except -1


@cython.final
cdef class Pairs:
    cdef Py_ssize_t rows
    cdef Column keys, values, edges
    cdef bint alike
    cdef i64 width
    cdef Node node

    cdef bint begin(self, Cursor cursor) except -1
    @cython.locals(p="const u8*", at=Py_ssize_t, _=Py_ssize_t)
    cdef Py_ssize_t add(self, Cursor cursor) except -1
    @cython.locals(values=Column, _=Py_ssize_t)
    cdef Py_ssize_t add_run(self, Cursor cursor, Run run) except -1
    cdef Py_ssize_t size(self) noexcept
    @cython.locals(at=Py_ssize_t, _=Py_ssize_t)
    cdef int add_keys(self, Cursor cursor) except -1
    cdef int end_entry(self) except -1
    @cython.locals(at=Py_ssize_t, i=Py_ssize_t)
    cdef bint is_alike(self, Cursor cursor) except -1
    @cython.locals(_=Py_ssize_t, i=Py_ssize_t)
    cdef int unfold(self) except -1
    cdef bint has_edges(self) noexcept
    cdef Py_ssize_t wire_bytes(self) except -1
    cdef int write(self, Block answer) except -1


@cython.locals(node=Node)
cdef Py_ssize_t first_key(Cursor cursor) except -1
@cython.locals(after=Py_ssize_t)
cdef Py_ssize_t next_key(Cursor cursor, Py_ssize_t at) except -1


@cython.final
cdef class Ids:
    cdef bint as_numbers, as_text
    cdef Column ms, seq, texts
    cdef array.array one
    cdef u64 last_ms, last_seq
    cdef bytes last
    cdef bytearray stem

    @cython.locals(w="u64*")
    cdef int add(self, u64 ms, u64 seq) except -1
    cdef int add_run(self, const u64* w, Py_ssize_t n) except -1
    cdef int parts(self) except -1
    cdef Py_ssize_t wire_bytes(self) except -1
    cdef int end(self, Py_ssize_t rows) except -1
    cdef int write(self, Block answer) except -1


@cython.final
cdef class Sheet:
    cdef Py_ssize_t rows
    cdef i64 size
    cdef list spare, names, columns
    cdef Node node
    cdef array.array wanted
    cdef Run run
    cdef bint as_map
    cdef u32 misfit
    cdef Ids ids
    cdef Pairs pairs

    @cython.locals(i=Py_ssize_t, column=Column)
    cdef int choose(self, list kinds) except -1
    cdef bint add(self, Cursor cursor, i64 most) except -1
    @cython.locals(run=Run, start=Py_ssize_t)
    cdef int add_run(self, Cursor cursor, i64 most) except -1
    @cython.locals(wanted="u32*", i=Py_ssize_t, column=Column)
    cdef int put_run(self, Run run) except -1
    @cython.locals(p="const u8*", at=Py_ssize_t, _=Py_ssize_t, place=u32, column=Column)
    cdef Py_ssize_t pick(self, Cursor cursor) except -1
    @cython.locals(node=Node, wanted="u32*", at=Py_ssize_t, i=Py_ssize_t)
    cdef int learn(self, Cursor cursor) except -1
    @cython.locals(i=Py_ssize_t, name=bytes)
    cdef u32 place_of(self, const u8* p, Py_ssize_t at) except? 0
    @cython.locals(size=Py_ssize_t, i=Py_ssize_t, column=Column, answer=Block)
    cdef int write(self, RespWriter out) except -1
    @cython.locals(ids=Ids, pairs=Pairs, column=Column)
    cdef give_back(self)


cpdef columns(Context ctx, Argv argv)
@cython.locals(w="const u64*", start_ms=u64, start_seq=u64, end_ms=u64, end_seq=u64)
cdef (u64, u64, u64, u64) parse_bounds(Argv argv) except *
@cython.locals(start_ms=u64, start_seq=u64, end_ms=u64, end_seq=u64, sheet=Sheet, stream=Stream, cursor=Cursor)
cdef apply_columns(Context ctx, Argv argv, (u64, u64, u64, u64) bounds, object options)
@cython.locals(most=i64)
cdef int fill(Sheet sheet, Cursor cursor, i64 count) except -1
