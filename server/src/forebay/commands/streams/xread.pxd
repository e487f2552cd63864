# Types of xread.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context
from forebay.commands.streams cimport entry_writer
from forebay.commands.streams cimport xread_options
from forebay.commands.streams.xread_options cimport ReadOptions
from forebay.core cimport ids
from forebay.core.cursor cimport Cursor
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef int DOLLAR, PLUS, GREATER


cdef class Read:
    cdef Context ctx
    cdef Argv argv
    cdef RespWriter out
    cdef ReadOptions options
    cdef Py_ssize_t start, mark
    cdef i64 written, served

    cdef int begin(self, Argv argv, bint is_group) except -1
    @cython.locals(options=ReadOptions, i="Py_ssize_t")
    cdef int run(self) except -1
    cdef void finish(self) except *

    @cython.locals(sign="int")
    cdef int check(self, Py_ssize_t i) except -1
    @cython.locals(stream=Stream, sign="int", ms="u64", seq="u64")
    cdef void serve(self, Py_ssize_t i) except *
    cdef dict look_again(self, list keys)

    cdef Stream stream(self, Py_ssize_t i)
    @cython.locals(at="Py_ssize_t", argv=Argv, sign="int")
    cdef int sign(self, Py_ssize_t i) except -1
    @cython.locals(at="Py_ssize_t", argv=Argv, ok="bint", ms="u64", seq="u64")
    cdef (u64, u64) read_id(self, Py_ssize_t i) except *

    @cython.locals(argv=Argv, at="Py_ssize_t")
    cdef int open_stream(self, Py_ssize_t i) except -1
    @cython.locals(cursor=Cursor)
    cdef int serve_last(self, Stream stream, Py_ssize_t i) except -1
    @cython.locals(cursor=Cursor, limit="i64", guess="i64", mark="Py_ssize_t", n="i64", _="bint")
    cdef void serve_entries(self, Stream stream, u64 ms, u64 seq) except *
    @cython.locals(options=ReadOptions, limit="i64", left="i64")
    cdef i64 limit(self) except -2
    @cython.locals(maxsize="i64")
    cdef bint is_full(self) noexcept
    @cython.locals(maxcount="i64")
    cdef bint is_exhausted(self) noexcept

    @cython.locals(
        options=ReadOptions, argv=Argv, call=Argv, words=list, keys=list, i="Py_ssize_t",
        at="Py_ssize_t", stream=Stream, is_group="bint",
    )
    cdef void wait(self) except *


cpdef xread(Context ctx, Argv argv)
@cython.locals(read=Read)
cdef Read parse_xread(Context ctx, Argv argv)
cdef int apply_xread(Read read) except -1
