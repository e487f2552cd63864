# Types of xrange.py; see there.
cimport cython

from forebay.commands.api.context cimport Context
from forebay.commands.streams cimport entry_writer
from forebay.commands.streams.parsing cimport integer
from forebay.core cimport ids
from forebay.core.cursor cimport Cursor
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv

@cython.locals(stream=Stream)
cpdef xlen(Context ctx, Argv argv)

@cython.locals(w="const u64*", start_ms="u64", start_seq="u64", end_ms="u64", end_seq="u64")
cdef inline (u64, u64, u64, u64, i64) parse_xrange(Argv argv, Py_ssize_t start_at, Py_ssize_t end_at) except *

@cython.locals(start_ms="u64", start_seq="u64", end_ms="u64", end_seq="u64", count="i64", guess="i64", stream=Stream, cursor=Cursor)
cdef int apply_xrange(Context ctx, Argv argv, (u64, u64, u64, u64, i64) bounds, bint reverse) except -1

@cython.locals(count="i64")
cdef i64 read_count(Argv argv, Py_ssize_t at) except -2

cpdef xrange(Context ctx, Argv argv)
cpdef xrevrange(Context ctx, Argv argv)
