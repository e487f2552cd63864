# Types of xpending.py; see there.
cimport cython

from forebay.commands.streams cimport parsing
from forebay.commands.api.context cimport Context
from forebay.core cimport ids
from forebay.core.group cimport Consumer, Group
from forebay.core.pel cimport Pending
from forebay.core.slab cimport Slab
from forebay.core.view cimport View
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef Py_ssize_t SUMMARY_ARGS, LEAST_ARGS, MOST_ARGS, LEAST_IDLE_ARGS, FIRST_OPTION

cpdef xpending(Context ctx, Argv argv)

@cython.locals(at=Py_ssize_t, min_idle_ms=i64, count=i64, rows=Rows, group=Group, consumer=Consumer)
cpdef extended(Context ctx, Argv argv)


@cython.final
cdef class Rows:
    cdef i64 now_ms, min_idle_ms, count
    cdef u64 start_ms, start_seq, end_ms, end_seq

    @cython.locals(out=RespWriter, records=Slab, shown=i64, mark=Py_ssize_t, slot=i64, ms=u64, seq=u64,
                   owner_no=i64, idle_ms=i64)
    cdef int write(self, Context ctx, Group group, View view) except -1
