# Types of pel.py.
cimport cython

from forebay cimport mem
from forebay.core.slab cimport Slab, first_turn, last_turn, next_turn
from forebay.core.view cimport View
from forebay.mem cimport i64, u64

cdef i64 DELIVERIES_MAX


@cython.final
cdef class Pending:
    cdef public Slab records
    cdef public View by_id, by_time
    cdef public list owners, free_numbers
    cdef public Py_ssize_t nacked
    cdef public u64 top_ms, top_seq, top_time

    @cython.locals(view=View, number="Py_ssize_t")
    cpdef Py_ssize_t open_owner(self) except -1
    @cython.locals(view=View, dropped="Py_ssize_t")
    cpdef Py_ssize_t close_owner(self, Py_ssize_t owner_no) except -1
    @cython.locals(view=View)
    cpdef View owner(self, Py_ssize_t owner_no)

    @cython.locals(slot=i64, time=u64, is_last="bint")
    cpdef i64 add(self, u64 ms, u64 seq, Py_ssize_t owner_no, u64 time_ms, i64 deliveries) except -1
    @cython.locals(last=i64)
    cdef u64 turn(self, u64 ms, u64 seq, Py_ssize_t owner_no, u64 time) except? 1
    cdef int insert(self, i64 slot, Py_ssize_t owner_no) except -1
    @cython.locals(owner_no="Py_ssize_t")
    cpdef int remove(self, i64 slot) except -1
    @cython.locals(records=Slab, before="Py_ssize_t", time=u64)
    cpdef int give(self, i64 slot, Py_ssize_t owner_no, u64 time_ms) except -1
    cdef int hand_over(self, i64 slot, Py_ssize_t before, Py_ssize_t owner_no) except -1
    cpdef int set_deliveries(self, i64 slot, i64 n) except -1
    @cython.locals(n=i64)
    cpdef int count_delivery(self, i64 slot) except -1

    cpdef u64 id_ms(self, i64 slot) noexcept
    cpdef u64 id_seq(self, i64 slot) noexcept
    cpdef u64 time_ms(self, i64 slot) noexcept
    cpdef i64 deliveries(self, i64 slot) except -1
    cpdef i64 owner_no(self, i64 slot) noexcept

    @cython.locals(slot=i64)
    cpdef i64 find(self, u64 ms, u64 seq) except -2
    cdef bint has_id(self, i64 slot, u64 ms, u64 seq) noexcept
    cpdef i64 seek(self, u64 ms, u64 seq) except -2
    cpdef i64 first(self) except -2
    cpdef i64 last(self) except -2
    cpdef i64 after(self, i64 slot) except -2
    cpdef i64 oldest(self) except -2
    cpdef i64 after_by_time(self, i64 slot) except -2
    @cython.locals(view=View, total="Py_ssize_t")
    cpdef Py_ssize_t used_bytes(self) except -1
