# Types of tls_channel.py; see there.
cimport cython

from forebay cimport mem
from forebay.mem cimport u8
from forebay.server.net cimport sysio

cdef Py_ssize_t RECORD_BYTES, SCRATCH_BYTES, FEED_BYTES, PLAIN_BYTES, BATCH_BYTES, MOST_SIDE_TALK


@cython.final
cdef class Scratch:
    cdef bytearray buf, plain
    cdef u8* p
    cdef u8* plain_p
    cdef object plain_view


@cython.final
cdef class TlsChannel:
    cdef public int fd
    cdef public object cipher, incoming, outgoing
    cdef object read, write, feed, fetch
    cdef Scratch scratch
    cdef bint has_early
    cdef public bytes unsent
    cdef public Py_ssize_t owed
    cdef public bint is_ended
    cdef public str fault

    @cython.locals(got=Py_ssize_t, done=Py_ssize_t)
    cdef Py_ssize_t recv(self, u8* p, Py_ssize_t at, Py_ssize_t n) except? -1
    @cython.locals(done=Py_ssize_t, fed=Py_ssize_t)
    cdef Py_ssize_t take(self, Py_ssize_t got, u8* p, Py_ssize_t at, Py_ssize_t n) except? -1
    @cython.locals(scratch=Scratch, got=Py_ssize_t, done=Py_ssize_t)
    cdef Py_ssize_t decrypt(self, u8* p, Py_ssize_t at, Py_ssize_t n, Py_ssize_t rest) except? -1
    cdef Py_ssize_t nothing(self) except? -1
    cdef end(self, str fault)
    cdef talk_aside(self)
    @cython.locals(got=Py_ssize_t, done=Py_ssize_t, size=Py_ssize_t)
    cdef Py_ssize_t send(self, const u8* p, Py_ssize_t at, Py_ssize_t n) except? -1
    @cython.locals(done=Py_ssize_t, records=list)
    cdef bytes encrypt(self, const u8* p, Py_ssize_t at, Py_ssize_t n)
    @cython.locals(size=Py_ssize_t, got=Py_ssize_t)
    cdef Py_ssize_t send_rest(self) except? -1
    cpdef str common_name(self)
    cpdef close(self)
    cpdef say(self, bytes text)
