# Types of waiting.py; see there.
cimport cython

from forebay.commands.api.context cimport Context
from forebay.commands.streams.parsing cimport integer
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter


@cython.final
cdef class Confirmation:
    cdef object replication
    cdef i64 offset, wanted
    cpdef bint is_enough(self) except -1
    cpdef answer(self, RespWriter out)


@cython.locals(wanted=i64, timeout_ms=i64, wish=Confirmation)
cpdef wait(Context ctx, Argv argv)
@cython.locals(timeout_ms=i64)
cdef i64 read_timeout(Argv argv, Py_ssize_t i, i64 now_ms) except? -1
