# Types of apply.py; see there.
cimport cython

from forebay.commands.api.context cimport Context
from forebay.commands.api.effects cimport Effects
from forebay.commands.api.session cimport Session
from forebay.commands.api.spec cimport Command
from forebay.engine.engine cimport Engine
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv
from forebay.wire.request cimport RequestParser
from forebay.wire.resp_writer cimport RespWriter

cdef int IS_MONITORED


@cython.final
cdef class Applier:
    cdef public Engine engine
    cdef public Session session
    cdef RequestParser parser, scout
    cdef Command multi, exec, ping, replconf
    cdef public bint skip_foreign, wants_ack
    cdef public dict left_out
    cdef public list news
    cdef public Py_ssize_t looked

    @cython.locals(engine=Engine, ctx=Context, parser=RequestParser, row=Command)
    cpdef Py_ssize_t run(self, bytearray buf, Py_ssize_t start, Py_ssize_t end, i64 now_ms) except -1
    @cython.locals(scout=RequestParser)
    cdef bint is_whole(self, bytearray buf, Py_ssize_t start, Py_ssize_t end) except -1
    @cython.locals(parser=RequestParser, effects=Effects, row=Command)
    cdef int run_transaction(self) except -1
    @cython.locals(effects=Effects)
    cdef int run_unit(self, Command row, Argv argv) except -1
    cdef int serve(self) except -1
    cdef int step(self, Command row, Argv argv) except -1
    @cython.locals(out=RespWriter, engine=Engine, started=i64)
    cdef int act(self, Command row, Argv argv) except -1
    @cython.locals(engine=Engine, ended_us=i64)
    cdef int count(self, Command row, Argv argv, i64 started_us) except -1
    cdef conflict(self, Argv argv, bytes error)
    cdef refuse(self, Argv argv, str why)
    cdef leave_out(self, list words, str why)
