# Types of resp_writer.py; see there.
cimport cython

from forebay cimport mem
from forebay.mem cimport i64, u8, u64

cdef Py_ssize_t FIRST_BUFFER
cdef Py_ssize_t LARGEST_SPARE
cdef Py_ssize_t SPARE_BYTES
cdef Py_ssize_t ASIDE_BYTES
cdef Py_ssize_t GUARDED_BYTES
cdef Py_ssize_t HEADER
cdef Py_ssize_t STREAM_ID
cdef double LARGEST_PLAIN
cdef int STAR, PERCENT, TILDE, GREATER, DOLLAR, COLON, DASH


cdef bytearray NOTHING


@cython.final
cdef class WriterPool:
    cdef list slots
    cdef Py_ssize_t top                 # slots in use
    cdef Py_ssize_t held_bytes          # in them
    cdef public object guard            # asked before an output grows large; or None
    cdef bytearray text                 # of ms
    cdef u8* t
    cdef u64 ms
    cdef Py_ssize_t n

    @cython.locals(buf=bytearray)
    cdef bytearray take(self)
    @cython.locals(size=Py_ssize_t)
    cdef int give(self, bytearray buf) except -1
    @cython.locals(o=Py_ssize_t, n=Py_ssize_t)
    cdef Py_ssize_t put_id(self, u8* d, Py_ssize_t at, u64 ms, u64 seq) noexcept


cdef Py_ssize_t put_bulk(u8* d, Py_ssize_t o, const u8* src, Py_ssize_t at, Py_ssize_t n) noexcept


@cython.final
cdef class RespWriter:
    cdef public int resp                # 2 or 3
    cdef readonly WriterPool pool
    cdef bytearray buf                  # NOTHING while no bytes wait
    cdef u8* p                          # its bytes; need() may change it
    cdef readonly Py_ssize_t start      # bytes already sent
    cdef readonly Py_ssize_t size       # end of the written bytes; not 0 if any wait
    cdef readonly Py_ssize_t cap        # length of buf
    cdef readonly list aside            # full buffers that come before it, or None
    cdef readonly Py_ssize_t aside_start, aside_bytes

    cdef int need(self, Py_ssize_t n) except -1
    @cython.locals(buf=bytearray)
    cdef int grow(self, Py_ssize_t n) except -1
    cpdef Py_ssize_t pending(self) except -1
    cpdef Py_ssize_t room_bytes(self) except -1
    cpdef object view(self)
    @cython.locals(rest=Py_ssize_t)
    cpdef int consume(self, Py_ssize_t n) except -1
    cpdef int set_aside(self) except -1
    cpdef int consume_aside(self, Py_ssize_t n) except -1
    cpdef int clear(self) except -1
    cdef int release(self) except -1
    cdef int let_go(self) except -1
    cpdef bytes take(self)
    cpdef int rewind(self, Py_ssize_t mark) except -1
    @cython.locals(n=Py_ssize_t)
    cpdef int insert(self, Py_ssize_t mark, bytes data) except -1

    @cython.locals(p="u8*", o=Py_ssize_t)
    cdef int header(self, int kind, Py_ssize_t n) except -1
    cpdef int array(self, Py_ssize_t n) except -1
    cpdef int map(self, Py_ssize_t n) except -1
    cpdef int set(self, Py_ssize_t n) except -1
    cpdef int push(self, Py_ssize_t n) except -1
    @cython.locals(mark=Py_ssize_t)
    cpdef Py_ssize_t open_array(self, Py_ssize_t guess) except -1
    @cython.locals(at=Py_ssize_t, end=Py_ssize_t, shift=Py_ssize_t)
    cpdef int close_array(self, Py_ssize_t mark, Py_ssize_t n) except -1
    @cython.locals(mark=Py_ssize_t)
    cpdef Py_ssize_t open_map(self, Py_ssize_t guess) except -1
    cpdef int close_map(self, Py_ssize_t mark, Py_ssize_t n) except -1

    cdef int span(self, const u8* src, Py_ssize_t at, Py_ssize_t n) except -1
    cpdef int bulk(self, bytes data) except -1
    cpdef int stream_id(self, u64 ms, u64 seq) except -1
    @cython.locals(p="u8*", o=Py_ssize_t, size=u64)
    cpdef int number(self, i64 value) except -1
    @cython.locals(p="u8*", o=Py_ssize_t)
    cpdef int integer(self, i64 value) except -1
    @cython.locals(n=Py_ssize_t)
    cpdef int raw(self, bytes data) except -1
    cpdef int bytes_of(self, bytearray buf, Py_ssize_t at, Py_ssize_t n) except -1
    cpdef int ok(self) except -1
    cpdef int null(self) except -1
    cpdef int null_array(self) except -1
    cpdef int status(self, bytes text) except -1
    cpdef int error(self, bytes text) except -1
    cpdef int double(self, double value) except -1
    cpdef int boolean(self, bint value) except -1
    cpdef int verbatim(self, bytes form, bytes text) except -1
    cpdef int value(self, object obj) except -1
    cpdef int collection(self, object obj) except -1


cdef bytes one_line(bytes text)
cdef bytes double_text(double value)
