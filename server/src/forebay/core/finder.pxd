# Types of finder.py; see there.
cimport cython

from forebay cimport mem
from forebay.core.cursor cimport Cursor
from forebay.core.stream cimport Stream
from forebay.mem cimport u64



@cython.final
cdef class Finder:
    cdef public Cursor cursor
    cdef public bint stands      # the cursor is on an entry

    @cython.locals(cursor=Cursor)
    cpdef bint find(self, u64 ms, u64 seq) except -1
    @cython.locals(cursor=Cursor)
    cdef bint seek(self, u64 ms, u64 seq) except -1
    @cython.locals(cursor=Cursor)
    cdef bint is_before(self, u64 ms, u64 seq) noexcept
    @cython.locals(cursor=Cursor)
    cdef bint is_past(self, u64 ms, u64 seq) noexcept
