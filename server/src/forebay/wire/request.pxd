# Types of request.py; see there.
cimport cython

from forebay cimport mem
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv
from forebay.wire.inline cimport split_line

cdef Py_ssize_t STRANGER_MAX_ARGS
cdef Py_ssize_t STRANGER_MAX_BULK
cdef Py_ssize_t BULK_CEILING
cdef int STAR, DOLLAR, CR, LF, TLS_HELLO


@cython.final
cdef class Limits:
    cdef public Py_ssize_t max_bulk_len
    cdef public Py_ssize_t max_args
    cdef public Py_ssize_t max_inline
    cdef public bint authenticated


@cython.final
cdef class RequestParser:
    cdef public Limits limits
    cdef readonly Argv argv
    cdef object buf
    cdef u8* p
    cdef readonly Py_ssize_t pos        # start of the first command that is not consumed
    cdef readonly Py_ssize_t end        # end of the received bytes
    cdef readonly Py_ssize_t want       # bytes known to be missing, 0 if not known
    cdef Py_ssize_t reached             # parsed up to pos + reached
    cdef Py_ssize_t scanned             # no line end before pos + scanned
    cdef Py_ssize_t got                 # complete arguments of the present command
    cdef Py_ssize_t left                # and the missing ones
    cdef Py_ssize_t bulk_len            # length announced for the next one, -1 if not yet

    cpdef int load(self, object buf, Py_ssize_t start, Py_ssize_t end) except -1
    cpdef bint next(self) except -1
    cdef int rest(self) except -1
    cdef int finish(self, Py_ssize_t n, Py_ssize_t at) except -1
    @cython.locals(lf=Py_ssize_t, stop=Py_ssize_t, line=bytearray)
    cdef bint next_line(self) except -1
    @cython.locals(at=Py_ssize_t, cr=Py_ssize_t, ok=bint, n=i64)
    cdef bint open_array(self) except -1
    @cython.locals(
        argv=Argv, p="u8*", w="u64*", end=Py_ssize_t, at=Py_ssize_t,
        n=Py_ssize_t, i=Py_ssize_t, last=Py_ssize_t,
    )
    cdef bint next_bulks(self) except -1
    cdef int pause(self, Py_ssize_t i, Py_ssize_t at, Py_ssize_t n) except -1
    @cython.locals(cr=Py_ssize_t, ok=bint, n=i64)
    cdef Py_ssize_t bulk_header(self, Py_ssize_t at) except -2
    @cython.locals(cr=Py_ssize_t)
    cdef Py_ssize_t find_line_end(self, Py_ssize_t at, str too_big) except -2
    @cython.locals(hit=Py_ssize_t, seen=Py_ssize_t)
    cdef Py_ssize_t find_in_line(self, Py_ssize_t at, int byte, str too_big) except -2

