cimport cython

from forebay.commands.api.context cimport Context, Found
from forebay.commands.streams.parsing cimport parse_delete, parse_ids
from forebay.core cimport ids
from forebay.core.group cimport drop_references, is_referenced, min_last_id
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv

cdef int DELREF, ACKED, GONE, MISSING, KEPT, FORGOTTEN


@cython.locals(found=Found, deleted="i64")
cpdef xdel(Context ctx, Argv argv)

@cython.locals(i="Py_ssize_t", ms="u64", seq="u64", deleted="i64", _="bint")
cdef i64 apply_xdel(Stream stream, Argv argv) except -1

cpdef record_deletion(Context ctx, Argv argv, bytes key, i64 deleted)

@cython.locals(found=Found, policy="int", first="Py_ssize_t", count="i64", deleted="i64", forgotten="i64", _="Py_ssize_t")
cpdef xdelex(Context ctx, Argv argv)

@cython.locals(i="Py_ssize_t", ms="u64", seq="u64", low_ms="u64", low_seq="u64", deleted="i64", forgotten="i64", outcome="int", _="bint")
cdef (i64, i64) apply_xdelex(Context ctx, Argv argv, Stream stream, int policy, Py_ssize_t first, Py_ssize_t end) except *

@cython.locals(forgotten="bint")
cpdef int delete_one(Stream stream, u64 ms, u64 seq, int policy, u64 low_ms, u64 low_seq) except -2
