# Types of xadd.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context, Found
from forebay.commands.api.effects cimport Effects
from forebay.commands.streams.parsing cimport integer, policy_word
from forebay.core cimport ids
from forebay.core.node cimport Node
from forebay.core.stream cimport Stream
from forebay.core.trim cimport Trimmer
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv

cdef i64 ENTRY_BYTES_MAX
cdef int NO_POLICY, STAR, DASH, TILDE, EQUALS
cdef i64 DEFAULT_LIMIT_NODES, DEFAULT_LIMIT, DEFAULT_LIMIT_MAX


@cython.final
@cython.no_gc
cdef class AddOptions:
    cdef public u64 ms, seq
    cdef public bint id_given, seq_given, nomkstream
    cdef public Trimmer trimmer
    cdef public Py_ssize_t id_at, threshold_at, pid_at, iid_at
    cdef public int policy
    cdef public i64 limit, trimmed

    cdef int reset(self) except -1

    @cython.locals(at="Py_ssize_t", after="Py_ssize_t")
    cpdef int read(self, Context ctx, Argv argv, bint is_add) except -1

    @cython.locals(left="Py_ssize_t")
    cdef Py_ssize_t read_word(self, Argv argv, Py_ssize_t at, bint is_add) except -1

    @cython.locals(trimmer=Trimmer, sign="int", ok="bint", maxlen="i64", ms="u64", seq="u64")
    cdef Py_ssize_t read_threshold(self, Argv argv, Py_ssize_t at, bint by_length) except -1

    @cython.locals(limit="i64")
    cdef Py_ssize_t read_limit(self, Argv argv, Py_ssize_t at) except -1

    cdef Py_ssize_t read_producer(self, Argv argv, Py_ssize_t at, bytes word) except -1
    cdef Py_ssize_t read_message(self, Argv argv, Py_ssize_t at) except -1

    @cython.locals(start="Py_ssize_t", n="Py_ssize_t", p="const u8*", ok="bint")
    cdef int read_id(self, Argv argv, Py_ssize_t at) except -1

    @cython.locals(trimmer=Trimmer, limit="i64")
    cdef int settle_limit(self, Context ctx, bint is_add) except -1

    cdef bytes without_strategy(self, bint is_add)


@cython.locals(options=AddOptions, found=Found, stream=Stream)
cpdef xadd(Context ctx, Argv argv)

@cython.locals(options=AddOptions, first="Py_ssize_t")
cdef inline AddOptions parse_xadd(Context ctx, Argv argv)

@cython.locals(stream=Stream, first="Py_ssize_t", size="i64")
cdef inline Stream apply_xadd(Context ctx, Argv argv, Found found, AddOptions options)

@cython.locals(stream=Stream)
cpdef Stream new_stream(Context ctx)
cpdef create(Context ctx, bytes key, Stream stream)

@cython.locals(last_ms="u64", last_seq="u64", now_ms="u64", _="bint")
cdef int choose_id(Context ctx, Stream stream, AddOptions options) except -1

@cython.locals(total="i64", i="Py_ssize_t")
cdef i64 payload_size(Argv argv, Py_ssize_t first) except -1

cdef tuple message_key(Argv argv, AddOptions options)
cdef bint is_duplicate(Context ctx, Argv argv, Stream stream, AddOptions options) except -1
cdef remember_message(Argv argv, Stream stream, AddOptions options)

cdef inline int record_xadd(Context ctx, Argv argv, bytes key, Stream stream, AddOptions options) except -1

@cython.locals(makes_id="bint", trimmer=Trimmer, effects=Effects, at=Py_ssize_t)
cpdef record_words(Context ctx, Argv argv, Stream stream, AddOptions options)

@cython.locals(node=Node)
cdef bytes exact_threshold(Trimmer trimmer, Stream stream)

@cython.locals(options=AddOptions, found=Found)
cpdef xtrim(Context ctx, Argv argv)

@cython.locals(options=AddOptions)
cdef AddOptions parse_xtrim(Context ctx, Argv argv)
cdef int apply_xtrim(Stream stream, AddOptions options) except -1
cdef record_xtrim(Context ctx, Argv argv, Found found, AddOptions options)
