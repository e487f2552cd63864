cimport cython

from forebay cimport mem
from forebay.commands.streams cimport entry_writer
from forebay.commands.streams cimport xread_options
from forebay.commands.streams.delivery_effects cimport DeliveryEffects, record_consumer
from forebay.commands.api.context cimport Context, Found
from forebay.commands.api.effects cimport Effects
from forebay.commands.streams.xread_options cimport ReadOptions
from forebay.commands.streams.parsing cimport group_of
from forebay.core cimport ids
from forebay.core.cursor cimport Cursor
from forebay.core.finder cimport Finder
from forebay.core.group cimport Consumer, Group
from forebay.core.pel cimport Pending
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef int DOLLAR, PLUS, GREATER


@cython.final
cdef class Read:
    cdef Context ctx
    cdef Argv argv
    cdef bint is_group
    cdef RespWriter out
    cdef ReadOptions options
    cdef Py_ssize_t start, mark
    cdef i64 written, served, changes
    cdef list recorders, idle_consumers     # None until there is one

    @cython.locals(options=ReadOptions, i="Py_ssize_t")
    cdef int run(self) except -1
    cdef void finish(self) except *

    @cython.locals(found=Found, argv=Argv, sign="int")
    cdef int check(self, Py_ssize_t i) except -1
    cdef Stream stream(self, Py_ssize_t i)
    cdef Group group(self, Stream stream)

    @cython.locals(at="Py_ssize_t", argv=Argv, sign="int")
    cdef int sign(self, Py_ssize_t i) except -1

    @cython.locals(at="Py_ssize_t", argv=Argv, ok="bint", ms="u64", seq="u64")
    cdef (u64, u64) read_id(self, Py_ssize_t i) except *

    @cython.locals(found=Found, stream=Stream, sign="int", ms="u64", seq="u64")
    cdef void serve(self, Py_ssize_t i) except *

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

    @cython.locals(group=Group, before="i64", name=bytes, consumer=Consumer, is_new="bint", ms="u64", seq="u64")
    cdef void serve_group(self, bytes key, Stream stream, Py_ssize_t i, int sign) except *

    @cython.locals(out=RespWriter, pending=Pending, limit="i64", ms="u64", seq="u64", ok="bint", mark="Py_ssize_t", finder=Finder, slot="i64", n="i64")
    cdef int serve_history(self, Stream stream, Group group, Consumer consumer, Py_ssize_t i) except -1

    @cython.locals(claims="bint", has_new="bint", out=RespWriter, before="Py_ssize_t", recorder=DeliveryEffects, limit="i64", mark="Py_ssize_t", n="i64")
    cdef void serve_new(self, bytes key, Stream stream, Group group, Consumer consumer, Py_ssize_t i) except *

    @cython.locals(now_ms="i64", pending=Pending, taken=list, slot="i64", idle_ms="i64", cursor=Cursor)
    cdef i64 claim(self, Stream stream, Group group, Consumer consumer, i64 limit, DeliveryEffects recorder) except -1

    @cython.locals(now_ms="i64", pending=Pending, slot="i64")
    cdef int take_over(self, Group group, Consumer consumer, list taken, DeliveryEffects recorder) except -1

    @cython.locals(out=RespWriter, noack="bint", with_claims="bint", now_ms="i64", ms="u64", seq="u64", cursor=Cursor, n="i64", _="bint")
    cdef i64 deliver(self, Stream stream, Group group, Consumer consumer, i64 limit, DeliveryEffects recorder) except -1

    @cython.locals(options=ReadOptions, argv=Argv, call=Argv, words=list, keys=list, i="Py_ssize_t", at="Py_ssize_t", stream=Stream)
    cdef wait(self)

    @cython.locals(group=Group, slot="i64", pending=Pending, since_ms="i64")
    cdef i64 claim_time(self, Stream stream) except -1


cpdef xread(Context ctx, Argv argv)
@cython.locals(read=Read)
cpdef xreadgroup(Context ctx, Argv argv)

@cython.locals(read=Read)
cdef Read parse_xread(Context ctx, Argv argv, bint is_group)
cdef int apply_xread(Read read) except -1
@cython.locals(effects=Effects, recorder=DeliveryEffects, key=bytes, group=bytes, name=bytes)
cdef int record_xread(Read read) except -1
