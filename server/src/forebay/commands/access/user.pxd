# Types of user.py; see there.
cimport cython

from forebay.commands.access.selector cimport Selector
from forebay.commands.api.spec cimport Command
from forebay.wire.argv cimport Argv


@cython.final
cdef class User:
    cdef public bytes name
    cdef public bint enabled, nopass, sanitizes
    cdef public list passwords, others
    cdef public Selector root

    @cython.locals(selector=Selector, i=Py_ssize_t)
    cpdef bint allows(self, Command row, Argv argv) except -1
