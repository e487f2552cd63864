# Types of xreadgroup.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context, Found
from forebay.commands.api.effects cimport Effects
from forebay.commands.streams cimport entry_writer
from forebay.commands.streams cimport xread_options
from forebay.commands.streams.delivery_effects cimport DeliveryEffects, record_consumer
from forebay.commands.streams.parsing cimport group_of
from forebay.commands.streams.xread cimport Read
from forebay.core cimport ids
from forebay.core.cursor cimport Cursor
from forebay.core.finder cimport Finder
from forebay.core.group cimport Consumer, Group
from forebay.core.pel cimport Pending
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u8, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef int GREATER


cdef class GroupRead(Read):
    cdef i64 changes
    cdef list recorders, idle_consumers     # None until there is one

    cdef int begin(self, Argv argv, bint is_group) except -1
    @cython.locals(found=Found, argv=Argv, sign="int")
    cdef int check(self, Py_ssize_t i) except -1
    cdef Group group(self, Stream stream)
    @cython.locals(found=Found, stream=Stream, group=Group)
    cdef void serve(self, Py_ssize_t i) except *
    @cython.locals(
        before="i64", name=bytes, consumer=Consumer, is_new="bint", sign="int", ms="u64", seq="u64"
    )
    cdef int serve_group(self, bytes key, Stream stream, Group group, Py_ssize_t i) except -1
    @cython.locals(
        out=RespWriter, pending=Pending, limit="i64", ms="u64", seq="u64", ok="bint",
        mark="Py_ssize_t", finder=Finder, slot="i64", n="i64",
    )
    cdef int serve_history(
        self, Stream stream, Group group, Consumer consumer, Py_ssize_t i
    ) except -1
    @cython.locals(
        claims="bint", has_new="bint", out=RespWriter, before="Py_ssize_t",
        recorder=DeliveryEffects, limit="i64", mark="Py_ssize_t", n="i64",
    )
    cdef void serve_new(
        self, bytes key, Stream stream, Group group, Consumer consumer, Py_ssize_t i
    ) except *
    @cython.locals(
        now_ms="i64", pending=Pending, taken=list, slot="i64", idle_ms="i64", cursor=Cursor
    )
    cdef i64 claim(
        self, Stream stream, Group group, Consumer consumer, i64 limit, DeliveryEffects recorder
    ) except -1
    @cython.locals(now_ms="i64", pending=Pending, slot="i64")
    cdef int take_over(
        self, Group group, Consumer consumer, list taken, DeliveryEffects recorder
    ) except -1
    @cython.locals(
        out=RespWriter, noack="bint", with_claims="bint", now_ms="i64", ms="u64", seq="u64",
        cursor=Cursor, n="i64", _="bint",
    )
    cdef i64 deliver(
        self, Stream stream, Group group, Consumer consumer, i64 limit, DeliveryEffects recorder
    ) except -1
    @cython.locals(streams=list)
    cdef dict look_again(self, list keys)
    @cython.locals(group=Group, slot="i64", pending=Pending, since_ms="i64")
    cdef i64 claim_time(self, Stream stream) except -1


cpdef xreadgroup(Context ctx, Argv argv)
@cython.locals(read=GroupRead)
cdef GroupRead parse_xreadgroup(Context ctx, Argv argv)
cdef int apply_xreadgroup(GroupRead read) except -1
@cython.locals(effects=Effects, recorder=DeliveryEffects, key=bytes, group=bytes, name=bytes)
cdef int record_xreadgroup(GroupRead read) except -1
