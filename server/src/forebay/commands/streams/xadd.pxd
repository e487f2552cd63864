# Types of xadd.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context
from forebay.commands.streams.add_options cimport AddOptions
from forebay.core cimport ids
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv

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
