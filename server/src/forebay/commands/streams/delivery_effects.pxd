# Types of delivery_effects.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.commands.api.effects cimport Effects
from forebay.core cimport ids
from forebay.core.group cimport Group
from forebay.mem cimport i64, u64
from forebay.wire.resp_writer cimport RespWriter

cdef Py_ssize_t FEW_IDS, FIXED_ARGS
cdef array.array NO_IDS


@cython.final
cdef class DeliveryEffects:
    cdef Effects effects
    cdef bytes key, owner
    cdef Group group
    cdef u64 last_ms, last_seq, first_ms, first_seq
    cdef i64 time_ms, deliveries     # of the run being collected
    cdef Py_ssize_t n, room          # IDs in the run; IDs that fit
    cdef public Py_ssize_t records   # written so far
    cdef public Group moved
    cdef array.array ids
    cdef u64* w

    @cython.locals(at=Py_ssize_t)
    cpdef int note(self, u64 ms, u64 seq, bytes owner, i64 time_ms, i64 deliveries) except -1
    cdef bint is_same(self, bytes owner, i64 time_ms, i64 deliveries) except -1
    @cython.locals(wider=array.array)
    cdef int widen(self) except -1
    cpdef int flush(self) except -1
    @cython.locals(effects=Effects, out=RespWriter, i=Py_ssize_t)
    cdef int record(self) except -1
    cdef int finish(self) except -1


@cython.locals(out=RespWriter)
cpdef int record_position(Effects effects, bytes key, Group group) except -1
cpdef record_consumer(Effects effects, bytes key, bytes group, bytes consumer)
