cimport cython

from forebay cimport mem
from forebay.commands.streams cimport entry_writer
from forebay.commands.streams.add_options cimport AddOptions
from forebay.commands.api.context cimport Context
from forebay.commands.streams.parsing cimport integer, strict_id
from forebay.core cimport ids
from forebay.core.cursor cimport Cursor
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv

cdef u64 U64_MAX
cdef i64 ENTRY_BYTES_MAX
cdef AddOptions SCRATCH

@cython.locals(options=AddOptions, first="Py_ssize_t", stream=Stream, is_new="bint", size="i64")
cpdef xadd(Context ctx, Argv argv)

@cython.locals(trimmed="i64")
cdef int finish_add(Context ctx, Argv argv, Stream stream, AddOptions options, Py_ssize_t id_at) except -1

@cython.locals(stream=Stream)
cpdef Stream new_stream(Context ctx)
cpdef create(Context ctx, Stream stream)

@cython.locals(last_ms="u64", last_seq="u64", now_ms="u64", _="bint")
cdef int choose_id(Context ctx, Stream stream, AddOptions options) except -1

@cython.locals(total="i64", i="Py_ssize_t")
cdef i64 payload_size(Argv argv, Py_ssize_t first) except -1

cdef tuple message_key(Argv argv, AddOptions options, Py_ssize_t first)
cdef bint is_duplicate(Context ctx, Argv argv, Stream stream, AddOptions options, Py_ssize_t first) except -1
cdef record_message(Argv argv, Stream stream, AddOptions options, Py_ssize_t first)

@cython.locals(stream=Stream)
cpdef xlen(Context ctx, Argv argv)

@cython.locals(w="const u64*", start_ms="u64", start_seq="u64", end_ms="u64", end_seq="u64", count="i64", guess="i64", stream=Stream, cursor=Cursor)
cdef int range_reply(Context ctx, Argv argv, Py_ssize_t start_at, Py_ssize_t end_at, bint reverse) except -1

@cython.locals(count="i64")
cdef i64 read_count(Argv argv, Py_ssize_t at) except -2

cpdef xrange(Context ctx, Argv argv)
cpdef xrevrange(Context ctx, Argv argv)

@cython.locals(ms="u64", seq="u64", maxdel_ms="u64", maxdel_seq="u64", entries_added="i64", i="Py_ssize_t", stream=Stream)
cpdef xsetid(Context ctx, Argv argv)

@cython.locals(top_ms="u64", top_seq="u64", _="bint")
cdef int check_set_id(Stream stream, u64 ms, u64 seq, i64 entries_added) except -1
