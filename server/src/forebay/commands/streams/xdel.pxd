cimport cython

from forebay.commands.streams.add_options cimport AddOptions
from forebay.commands.api.context cimport Context
from forebay.commands.streams.parsing cimport delete_options, strict_ids
from forebay.core cimport ids
from forebay.core.group cimport drop_references, is_referenced, min_last_id
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv

cdef int DELREF, ACKED, GONE, MISSING, KEPT, FORGOTTEN


@cython.locals(stream=Stream, i="Py_ssize_t", ms="u64", seq="u64", deleted="i64", _="bint")
cpdef xdel(Context ctx, Argv argv)

cpdef entries_went(Context ctx, Argv argv, i64 deleted)

@cython.locals(stream=Stream, policy="int", first="Py_ssize_t", count="i64", i="Py_ssize_t", end="Py_ssize_t", ms="u64", seq="u64", low_ms="u64", low_seq="u64", deleted="i64", forgotten="i64", outcome="int", _="Py_ssize_t")
cpdef xdelex(Context ctx, Argv argv)

@cython.locals(forgotten="bint")
cpdef int delete_one(Stream stream, u64 ms, u64 seq, int policy, u64 low_ms, u64 low_seq) except -2

@cython.locals(options=AddOptions, stream=Stream, removed="i64")
cpdef xtrim(Context ctx, Argv argv)
