# Types of spec.py; see there.
cimport cython


@cython.final
cdef class Keys:
    cdef public Py_ssize_t first, last, step
    cdef public object finder
    cdef public list parts
    cdef public int first_needs, other_needs
    cdef public bint is_plain

    cpdef Py_ssize_t end(self, Py_ssize_t n) except? -1


@cython.final
cdef class Command:
    cdef public bytes name, upper, full_name
    cdef public Keys keys
    cdef public object handler, categories, since, summary, group, syntax
    cdef public int arity, flags
    cdef readonly Py_ssize_t number
    cdef public bint is_container, is_fast, has_channels
    cdef public dict subcommands

    cpdef bint takes(self, Py_ssize_t n) except -1
