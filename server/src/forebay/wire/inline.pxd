# Types of inline.py; see there.
cimport cython

from forebay cimport mem
from forebay.mem cimport u8
from forebay.wire.argv cimport Argv

cdef int NUL, BELL, BACKSPACE, TAB, LF, CR, SPACE
cdef int QUOTE, APOSTROPHE, BACKSLASH, X


@cython.locals(p="u8*", end=Py_ssize_t, at=Py_ssize_t, n=Py_ssize_t, start=Py_ssize_t, length=Py_ssize_t)
cpdef bint split_line(Argv argv, bytearray line) except -1
cdef bint is_blank(int c) noexcept
@cython.locals(start=Py_ssize_t, o=Py_ssize_t, quote=int, c=int)
cdef (Py_ssize_t, Py_ssize_t) read_word(u8* p, Py_ssize_t at, Py_ssize_t end) noexcept
@cython.locals(c=int, high=int, low=int)
cdef (Py_ssize_t, int) read_escape(u8* p, Py_ssize_t at, Py_ssize_t end) noexcept
cdef int hex_digit(int c) noexcept
