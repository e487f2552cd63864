# Types of selector.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.access.patterns cimport Pattern
from forebay.commands.api.spec cimport Command, Keys
from forebay.mem cimport u8
from forebay.wire.argv cimport Argv

cdef int OPEN_TO_ALL


@cython.final
cdef class Selector:
    cdef public object catalogue
    cdef public bint all_commands, all_keys, all_channels, future
    cdef public bytearray bits
    cdef u8* p
    cdef readonly Py_ssize_t size
    cdef public list patterns, channels, rules
    cdef public dict first_args

    cpdef set_bits(self, bytearray bits)
    @cython.locals(keys=Keys, end=Py_ssize_t, at=Py_ssize_t)
    cpdef bint allows(self, Command row, Argv argv) except -1
    cpdef bint fits_found(self, Command row, Argv argv) except -1
    cdef bint has_bit(self, Command row) except -1
    @cython.locals(patterns=list, pattern=Pattern, j=Py_ssize_t, at=Py_ssize_t, n=Py_ssize_t)
    cpdef bint fits(self, Argv argv, Py_ssize_t i, int needs) except -1
