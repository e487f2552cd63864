cimport cython

from forebay cimport mem
from forebay.commands.streams.parsing cimport integer
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv

cdef i64 NOT_SET


@cython.final
cdef class ReadOptions:
    cdef public i64 count, maxcount, maxsize, block_ms, claim_ms
    cdef public bint count_given, noack
    cdef public Py_ssize_t group_at, keys_at, streams

    cdef int reset(self) except -1
    @cython.locals(at="Py_ssize_t")
    cpdef int read(self, Argv argv, i64 now_ms, bint is_group) except -1

    @cython.locals(left="Py_ssize_t", count="i64")
    cdef Py_ssize_t read_word(self, Argv argv, Py_ssize_t at, i64 now_ms, bint is_group) except -1

    @cython.locals(n="Py_ssize_t")
    cdef Py_ssize_t read_streams(self, Argv argv, Py_ssize_t at, bint is_group) except -1


cdef int only_group(bint is_group, bytes word) except -1

@cython.locals(value="i64")
cdef i64 positive(Argv argv, Py_ssize_t at, bytes word) except -1

@cython.locals(value="i64")
cdef i64 read_timeout(Argv argv, Py_ssize_t at, i64 now_ms) except -1
