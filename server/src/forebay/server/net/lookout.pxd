# Types of lookout.py; see there.
cimport cython


@cython.final
cdef class Lookout:
    cdef public int left_out, penalty

    cpdef bint is_due(self) except -1
    cpdef learn(self, bint was_worth_it)
