# Types of xclaim.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.commands.streams cimport entry_writer
from forebay.commands.streams cimport parsing
from forebay.commands.streams.delivery_effects cimport DeliveryEffects, record_consumer, record_position
from forebay.commands.api.context cimport Context
from forebay.commands.api.effects cimport Effects
from forebay.core cimport ids
from forebay.core.finder cimport Finder
from forebay.core.group cimport Consumer, Group
from forebay.core.pel cimport Pending
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef Py_ssize_t CONSUMER, MIN_IDLE, FIRST_ID, START, AUTO_OPTIONS
cdef i64 DEFAULT_COUNT, ATTEMPTS_FACTOR, MOST_COUNT, NO_RETRYCOUNT


@cython.final
cdef class Claim:
    cdef Context ctx
    cdef RespWriter out
    cdef bytes key
    cdef Group group
    cdef Pending pending
    cdef Finder finder
    cdef Consumer consumer
    cdef DeliveryEffects recorder           # None unless effects are recorded
    cdef Py_ssize_t ids_end
    cdef i64 now_ms, min_idle_ms, time_ms, retrycount, claimed, changes
    cdef u64 last_ms, last_seq              # LASTID
    cdef bint force, justid, raised, created

    @cython.locals(min_idle_ms=i64)
    cdef int read_min_idle(self, Argv argv, bytes text) except -1
    @cython.locals(has_value=bint, is_ahead=bint, idle_ms=i64)
    cdef int read_options(self, Argv argv, Py_ssize_t at) except -1
    @cython.locals(group=Group, name=bytes, consumer=Consumer)
    cdef int begin(self, Argv argv) except -1
    cdef bint is_ripe(self, i64 slot) except -1
    @cython.locals(pending=Pending, deliveries=i64)
    cdef int take(self, i64 slot, u64 ms, u64 seq) except -1
    @cython.locals(pending=Pending, owner=bytes, time_ms=i64, text=bytes, effects=Effects)
    cdef int drop(self, i64 slot, u64 ms, u64 seq) except -1
    @cython.locals(effects=Effects, group=Group)
    cdef int record(self) except -1


@cython.locals(ok=bint, value=i64)
cdef i64 option_value(Argv argv, Py_ssize_t i, bytes option) except? -1

@cython.locals(key=bytes, stream=Stream, group=Group, claim=Claim)
cpdef xclaim(Context ctx, Argv argv)

@cython.locals(end=Py_ssize_t, ok=bint, _=u64)
cdef int parse_xclaim(Claim claim, Argv argv) except -1

@cython.locals(mark=Py_ssize_t, i=Py_ssize_t, ms=u64, seq=u64, _=bint)
cdef int apply_xclaim(Claim claim, Argv argv) except -1
cdef int record_claim(Claim claim) except -1

@cython.locals(slot=i64)
cdef void claim_one(Claim claim, u64 ms, u64 seq) except *

@cython.locals(min_idle_ms=i64, ms=u64, seq=u64, count=i64, justid=bint, key=bytes, stream=Stream,
               group=Group, claim=Claim)
cpdef xautoclaim(Context ctx, Argv argv)

@cython.locals(out=RespWriter, deleted=array.array, front=Py_ssize_t, mark=Py_ssize_t, slot=i64,
               i=Py_ssize_t, records=i64)
cdef int apply_xautoclaim(Claim claim, Argv argv, u64 ms, u64 seq, i64 count) except -1

@cython.locals(text=bytes, min_idle_ms=i64, ms=u64, seq=u64, count=i64, justid=bint, at=Py_ssize_t, ok=bint)
cdef (i64, u64, u64, i64, bint) parse_xautoclaim(Argv argv) except *

@cython.locals(pending=Pending, attempts=i64, slot=i64, following=i64)
cdef i64 scan(Claim claim, u64 ms, u64 seq, i64 count, array.array deleted) except -2

@cython.locals(text=bytes)
cdef int insert_id(RespWriter out, Py_ssize_t mark, u64 ms, u64 seq) except -1
