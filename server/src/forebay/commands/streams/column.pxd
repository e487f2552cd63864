# Types of column.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.commands.streams cimport block
from forebay.commands.streams.block cimport Block
from forebay.core cimport listpack
from forebay.mem cimport i64, u8, u32, u64

cdef u8 DASH
cdef int SHORT_STRING, WIDE
cdef Py_ssize_t FIRST_ROOM, INTEGER_ROOM, SHORT_ROOM
cdef u64 LOW_MS
cdef int TEXTS, WHOLES, DOUBLES
cdef i64 EXACT


@cython.locals(high=u32, lanes=u32, tens=u32)
cdef Py_ssize_t put_four(u8* p, Py_ssize_t at, u32 value) noexcept


@cython.locals(whole=i64, _=Py_ssize_t)
cdef (bint, double) double_of(const u8* p, Py_ssize_t at) noexcept


@cython.final
cdef class Column:
    cdef bytearray data, offsets, valid
    cdef array.array spot
    cdef u8* p
    cdef u8* o
    cdef u8* v
    cdef bint gaps, fits
    cdef int kind, width
    cdef Py_ssize_t room, size, row_room, rows

    cdef int clear(self) except -1
    cdef int take(self, int kind) except -1
    @cython.locals(spots="u32*")
    cdef Py_ssize_t put(self, const u8* p, Py_ssize_t at, Py_ssize_t row) except -1
    @cython.locals(d="u8*", o="u8*", size=Py_ssize_t, row=Py_ssize_t, i=Py_ssize_t, head=int)
    cdef Py_ssize_t put_all(self, const u8* p, Py_ssize_t at, Py_ssize_t n) except -1
    cdef int put_run(self, const u8* p, Py_ssize_t row, Py_ssize_t n, const u32* spots, Py_ssize_t at, Py_ssize_t step) except -1
    @cython.locals(d="u8*", o="u8*", size=Py_ssize_t, i=Py_ssize_t, spot=Py_ssize_t, head=int)
    cdef int put_texts(self, const u8* p, Py_ssize_t row, Py_ssize_t n, const u32* spots, Py_ssize_t at, Py_ssize_t step) except -1
    @cython.locals(d="u8*", width=int, largest=i64, i=Py_ssize_t, spot=Py_ssize_t, value=i64, _=Py_ssize_t)
    cdef int put_wholes(self, const u8* p, Py_ssize_t row, Py_ssize_t n, const u32* spots, Py_ssize_t at, Py_ssize_t step) except -1
    @cython.locals(d="u8*", was=int, i=Py_ssize_t)
    cdef int stretch(self, Py_ssize_t row, Py_ssize_t room_rows, i64 value) except -1
    @cython.locals(d="u8*", i=Py_ssize_t, spot=Py_ssize_t, head=int, ok=bint, value=double)
    cdef int put_doubles(self, const u8* p, Py_ssize_t row, Py_ssize_t n, const u32* spots, Py_ssize_t at, Py_ssize_t step) except -1
    @cython.locals(value=i64, after=Py_ssize_t, start=Py_ssize_t, n=Py_ssize_t)
    cdef Py_ssize_t put_wide(self, const u8* p, Py_ssize_t at) except -1
    @cython.locals(d="u8*", o="u8*", size=Py_ssize_t, row=Py_ssize_t, i=Py_ssize_t, ms=u64, high=u64, stem_of=u64, stem_n=Py_ssize_t)
    cdef int put_ids(self, const u64* w, Py_ssize_t n, u8* stem) except -1
    @cython.locals(d="u8*", size=Py_ssize_t, i=Py_ssize_t)
    cdef int put_words(self, const u64* w, Py_ssize_t at, Py_ssize_t n) except -1
    @cython.locals(low=Py_ssize_t, n=Py_ssize_t)
    cdef int repeat(self, Py_ssize_t row) except -1
    cdef int end_at(self, Py_ssize_t place) except -1
    @cython.locals(low=Py_ssize_t)
    cdef bint has(self, Py_ssize_t row, const u8* p, Py_ssize_t at) except -1
    @cython.locals(is_text=bint)
    cdef int turn_to(self, Py_ssize_t row) except -1
    @cython.locals(i=Py_ssize_t)
    cdef int leave_out(self, Py_ssize_t row) except -1
    cdef inline int end(self, Py_ssize_t row, Py_ssize_t n) except -1
    @cython.locals(i=Py_ssize_t)
    cdef int mark(self, Py_ssize_t row, Py_ssize_t n) except -1
    cdef inline int make_room(self, Py_ssize_t row, Py_ssize_t n) except -1
    cdef int need(self, Py_ssize_t n) except -1
    cdef int widen(self) except -1
    cdef Py_ssize_t text_bytes(self) except -1
    cdef Py_ssize_t offset_bytes(self) noexcept
    cdef int write_texts(self, Block answer) except -1
    cdef Py_ssize_t field_bytes(self, Py_ssize_t rows) except -1
    cdef int write_field(self, Block answer) except -1
