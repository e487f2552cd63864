# Types of spec.py; see there.
cimport cython


@cython.final
cdef class Command:
    cdef public bytes name, upper, full_name
    cdef public object handler, keys, categories, since, summary, group, syntax
    cdef public int arity, flags
    cdef readonly Py_ssize_t number
    cdef public bint is_container, is_fast
    cdef public dict subcommands

    cpdef bint takes(self, Py_ssize_t n) except -1
