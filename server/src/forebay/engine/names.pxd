# Types of names.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.spec cimport Command
from forebay.mem cimport u8
from forebay.wire.argv cimport Argv

cdef Py_ssize_t LONGEST_NAME


@cython.final
cdef class Names:
    cdef list slots
    cdef Command latest
    cdef Py_ssize_t mask
    @cython.locals(p="u8*", at=Py_ssize_t, n=Py_ssize_t, i=Py_ssize_t, row=Command, latest=Command)
    cpdef Command find(self, Argv argv)


@cython.locals(h="unsigned int", i=Py_ssize_t)
cdef unsigned int name_hash(const u8* p, Py_ssize_t at, Py_ssize_t n) noexcept
