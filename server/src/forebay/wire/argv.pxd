# Types of argv.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport i64, u8, u64

cdef Py_ssize_t FEW_ARGS
cdef Py_ssize_t MANY_ARGS
cdef array.array NO_SPANS
cdef int CR, DOLLAR, LF


@cython.final
cdef class Argv:
    cdef readonly Py_ssize_t n      # number of arguments
    cdef readonly object buf        # the buffer of the spans
    cdef u8* p                      # its bytes
    cdef readonly array.array spans
    cdef u64* w                     # its words: offset, length, offset, length, ...
    cdef Py_ssize_t room            # arguments that fit in spans
    cdef readonly bint is_own       # no other code writes to buf
    cdef bint is_request            # bulk strings of a request, framing included

    cpdef bytes at(self, Py_ssize_t i)
    cpdef Py_ssize_t size(self, Py_ssize_t i) except -1
    cpdef list list(self)
    @cython.locals(twin=Argv, first=Py_ssize_t, end=Py_ssize_t, i=Py_ssize_t)
    cpdef Argv copy(self)
    cpdef Argv kept(self)
    @cython.locals(w="u64*", v="u64*", n=Py_ssize_t, i=Py_ssize_t)
    cpdef bint is_same(self, Argv other) except -1
    @cython.locals(p="u8*", w="u64*", start=Py_ssize_t, at=Py_ssize_t, i=Py_ssize_t, o=Py_ssize_t)
    cpdef Py_ssize_t plain_start(self, Py_ssize_t first, Py_ssize_t end) except? -1
    cpdef bint word(self, Py_ssize_t i, bytes word) except -1
    @cython.locals(n=Py_ssize_t)
    cpdef bint same(self, Py_ssize_t i, bytes text) except -1
    cpdef (bint, i64) integer(self, Py_ssize_t i) except *
    cdef int check(self, Py_ssize_t i) except -1
    cdef int use(self, object buf) except -1
    @cython.locals(room=Py_ssize_t, wider=array.array)
    cdef int reserve(self, Py_ssize_t n) except -1
    cdef int shrink(self) except -1
    cdef int lay(self, array.array spans, Py_ssize_t room) except -1
    @cython.locals(i=Py_ssize_t, w="u64*")
    cdef int rebase(self, Py_ssize_t n, i64 shift) except -1
    @cython.locals(i=Py_ssize_t, at=Py_ssize_t)
    cpdef int fill(self, list args) except -1


cpdef Argv argv_of(list args)
