# Types of slab.py.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport i64, u32, u64

cdef i64 RECORD_WORDS, KEY_WORDS, PAGE_RECORDS, FIRST_RECORDS
cdef u64 OWNED, TURNS, TIME_MAX_MS
cdef int OWNER_SHIFT, TURN_BITS
cdef array.array ZEROS

cdef i64 page_of(i64 slot) noexcept
cdef i64 word_of(i64 slot) noexcept
cdef bint is_key_below(const u64* w, i64 at, u64 ms, u64 seq, u64 time, bint by_time, bint if_same) noexcept
cpdef u64 first_turn(u64 time_ms) noexcept
cpdef u64 last_turn(u64 time) noexcept
cpdef u64 next_turn(u64 time) noexcept


@cython.final
cdef class Slab:
    cdef public list pages
    cdef array.array addresses
    cdef u64** table
    cdef public dict large
    cdef public u64 serial
    cdef public i64 used, room, free

    cdef int empty(self) except -1
    @cython.locals(slot=i64, w="u64*", at=i64)
    cdef i64 add(self, u64 ms, u64 seq, u64 owner_no, u64 time) except -1
    cdef int grow(self) except -1
    @cython.locals(w="u64*", at=i64)
    cdef int release(self, i64 slot) except -1
    @cython.locals(w="u64*")
    cdef void probe(self, u64 ms, u64 seq, u64 time) noexcept
    @cython.locals(w="u64*", at=i64)
    cdef void own(self, i64 slot, u64 owner_no, u64 time) noexcept
    cpdef u64 id_ms(self, i64 slot) noexcept
    cpdef u64 id_seq(self, i64 slot) noexcept
    @cython.locals(word=u64)
    cpdef u64 time_ms(self, i64 slot) noexcept
    cpdef u64 time_word(self, i64 slot) noexcept
    cpdef i64 owner_no(self, i64 slot) noexcept
    @cython.locals(n=u64)
    cpdef i64 deliveries(self, i64 slot) except -1
    @cython.locals(w="u64*", at=i64, low=u64)
    cpdef int set_deliveries(self, i64 slot, i64 n) except -1
    @cython.locals(w="u64*", at=i64)
    cdef bint is_below(self, i64 slot, u64 ms, u64 seq) noexcept
    @cython.locals(w="u64*", at=i64, ms=u64, seq=u64, time=u64)
    cdef bint sorts_below(self, i64 slot, i64 other, bint by_time) noexcept
    @cython.locals(table="u64**", w="u64*", at=i64, ms=u64, seq=u64, time=u64, middle="Py_ssize_t", other=i64)
    cdef Py_ssize_t place(self, const u32* slots, Py_ssize_t low, Py_ssize_t high, i64 slot, bint by_time) noexcept
    @cython.locals(w="u64*", at=i64, ms=u64, seq=u64, time=u64, middle="Py_ssize_t")
    cdef Py_ssize_t fence_before(self, const u64* fences, Py_ssize_t low, Py_ssize_t high, i64 slot, bint by_time) noexcept
    cpdef i64 used_bytes(self) noexcept
