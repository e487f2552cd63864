# Types of relay.py; see there.
cimport cython

from forebay cimport mem
from forebay.mem cimport i64, u8

cdef int STAR, DOLLAR, DASH, CR
cdef Py_ssize_t FIRST_ROOM, UNKNOWN, LONGEST_LINE


@cython.final
cdef class Relay:
    cdef bytes head
    cdef bytearray buf, out
    cdef u8* p
    cdef u8* o
    cdef Py_ssize_t at                  # first byte not in a command yet; within an entry: its words
    cdef Py_ssize_t reached             # hopped over up to here
    cdef Py_ssize_t end                 # end of the received bytes
    cdef Py_ssize_t size                # of the commands
    cdef readonly Py_ssize_t entries    # commands of this page
    cdef readonly Py_ssize_t page_bytes
    cdef Py_ssize_t left                # entries of this page that are not complete yet
    cdef Py_ssize_t words_left, words   # of this entry
    cdef Py_ssize_t id_at, id_end
    cdef readonly bytes last_id
    cdef readonly bytes refusal

    cpdef int begin(self) except -1
    cpdef bint is_whole(self)
    cpdef object commands(self)
    @cython.locals(start=Py_ssize_t, held=Py_ssize_t)
    cpdef object room(self, Py_ssize_t least)
    cpdef void came(self, Py_ssize_t count) except *
    cdef int close_page(self) except -1
    @cython.locals(stop=Py_ssize_t, count=Py_ssize_t)
    cdef bint open_page(self) except -1
    @cython.locals(size=Py_ssize_t, count=Py_ssize_t)
    cdef bint open_entry(self) except -1
    @cython.locals(p="u8*", at=Py_ssize_t, size=Py_ssize_t, after=Py_ssize_t)
    cdef bint pass_words(self) except -1
    @cython.locals(stop=Py_ssize_t, good=bint, count=i64)
    cdef Py_ssize_t count_at(self, Py_ssize_t at, int kind) except -2
    @cython.locals(id_size=Py_ssize_t, words_size=Py_ssize_t, head_size=Py_ssize_t, o=Py_ssize_t, head="const u8*")
    cdef int put_entry(self) except -1
    cdef Py_ssize_t put_line_end(self, Py_ssize_t o) noexcept
    cdef int need(self, Py_ssize_t room) except -1
