# Types of view.py.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.core.slab cimport Slab
from forebay.mem cimport i64, u32, u64

cdef Py_ssize_t CHUNK_SLOTS, FIRST_SLOTS, SMALL_SLOTS, KEY_WORDS
cdef array.array BLANK


@cython.final
@cython.no_gc  # it holds no reference back to itself
cdef class Chunk:
    cdef public array.array cells
    cdef u32* p
    cdef public Py_ssize_t room, start, end

    @cython.locals(n="Py_ssize_t")
    cdef bint make_room(self) except -1
    cdef int insert(self, Py_ssize_t at, u32 slot) except -1
    cdef Py_ssize_t take(self, Py_ssize_t at) noexcept
    @cython.locals(upper=Chunk, middle="Py_ssize_t")
    cdef Chunk cut(self)
    @cython.locals(n="Py_ssize_t")
    cdef int absorb(self, Chunk upper) except -1


cdef Chunk NO_CHUNK


@cython.final
cdef class View:
    cdef public Slab records
    cdef public bint by_time
    cdef public Py_ssize_t count, head
    cdef public list chunks
    cdef public array.array fences
    cdef public Chunk tail
    cdef public Py_ssize_t hint_no, hint_at

    cdef int reset(self) except -1
    @cython.locals(fences="u64*", last="Py_ssize_t", no="Py_ssize_t", chunk=Chunk)
    cdef (Py_ssize_t, Py_ssize_t) search(self, i64 slot) except *
    @cython.locals(chunk=Chunk, no="Py_ssize_t", at="Py_ssize_t")
    cdef (Py_ssize_t, Py_ssize_t) position(self, i64 slot) except *
    @cython.locals(chunk=Chunk)
    cdef i64 slot_at(self, Py_ssize_t no, Py_ssize_t at) except -2
    cdef i64 guess(self) except -2

    @cython.locals(no="Py_ssize_t", at="Py_ssize_t")
    cdef int insert(self, i64 slot) except -1
    cdef int append(self, i64 slot) except -1
    @cython.locals(last=i64)
    cdef bint is_above(self, i64 slot) noexcept
    @cython.locals(chunk=Chunk, upper=Chunk)
    cdef int put(self, Py_ssize_t no, Py_ssize_t at, i64 slot) except -1
    @cython.locals(records=Slab, key=list, at="Py_ssize_t")
    cdef int add_chunk(self, Py_ssize_t no, Chunk chunk, i64 slot) except -1
    @cython.locals(chunk=Chunk, no="Py_ssize_t", at="Py_ssize_t", n="Py_ssize_t")
    cdef int discard(self, i64 slot) except -1
    cdef int tidy(self, Py_ssize_t no, Chunk chunk) except -1
    @cython.locals(following="Py_ssize_t", chunk=Chunk)
    cdef int drop(self, Py_ssize_t no) except -1
    cdef int cut_out(self, Py_ssize_t no, Py_ssize_t end) except -1
    @cython.locals(n="Py_ssize_t", lower=Chunk, upper=Chunk)
    cdef bint merge(self, Py_ssize_t no) except -1

    @cython.locals(chunk=Chunk)
    cpdef i64 first(self) except -2
    cpdef i64 last(self) except -2
    @cython.locals(slot=i64, before=i64, no="Py_ssize_t", at="Py_ssize_t")
    cpdef i64 seek(self, u64 ms, u64 seq) except -2
    @cython.locals(slot=i64, no="Py_ssize_t", at="Py_ssize_t", chunk=Chunk)
    cdef i64 last_until(self, u64 time) except -2
    @cython.locals(no="Py_ssize_t", at="Py_ssize_t")
    cpdef i64 after(self, i64 slot) except -2
    @cython.locals(chunk=Chunk)
    cdef i64 settle(self, Py_ssize_t no, Py_ssize_t at) except -2
    @cython.locals(chunk=Chunk)
    cpdef list slots(self)
    @cython.locals(chunk=Chunk, total="Py_ssize_t")
    cpdef Py_ssize_t used_bytes(self) except -1
