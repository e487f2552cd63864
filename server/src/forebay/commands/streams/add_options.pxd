cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context
from forebay.commands.streams.parsing cimport integer, policy_word
from forebay.core cimport ids
from forebay.core.node cimport Node
from forebay.core.stream cimport Stream
from forebay.core.trim cimport Trimmer
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv

cdef int NO_POLICY, STAR, DASH, TILDE, EQUALS
cdef i64 DEFAULT_LIMIT_NODES, DEFAULT_LIMIT, DEFAULT_LIMIT_MAX


@cython.final
@cython.no_gc
cdef class AddOptions:
    cdef public u64 ms, seq
    cdef public bint id_given, seq_given, nomkstream
    cdef public Trimmer trimmer
    cdef public Py_ssize_t threshold_at, pid_at, iid_at
    cdef public int policy
    cdef public i64 limit

    cdef int reset(self) except -1

    @cython.locals(after="Py_ssize_t")
    cpdef Py_ssize_t read(self, Context ctx, Argv argv, Py_ssize_t at, bint is_add) except -1

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

    cdef int refuse_without_strategy(self, bint is_add) except -1

    @cython.locals(makes_id="bint", words=list)
    cpdef record(self, Context ctx, Argv argv, Stream stream, Py_ssize_t id_at)

    @cython.locals(trimmer=Trimmer, node=Node)
    cdef bytes result(self, Stream stream)
