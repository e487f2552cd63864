# Types of xsetid.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context, Found
from forebay.commands.streams.parsing cimport integer, strict_id
from forebay.core cimport ids
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv

@cython.locals(ms="u64", seq="u64", maxdel_ms="u64", maxdel_seq="u64", entries_added="i64", i="Py_ssize_t", found=Found, stream=Stream)
cpdef xsetid(Context ctx, Argv argv)

@cython.locals(top_ms="u64", top_seq="u64", _="bint")
cdef void check_set_id(Stream stream, u64 ms, u64 seq, i64 entries_added) except *
