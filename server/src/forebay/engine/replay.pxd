# Types of replay.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context
from forebay.commands.api.session cimport Session
from forebay.commands.api.spec cimport Command
from forebay.engine.engine cimport Engine
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter
from forebay.wire.request cimport RequestParser


@cython.final
cdef class Replayer:
    cdef public Engine engine
    cdef public bint skip_foreign, recorded
    cdef public Session session
    cdef RequestParser parser
    cdef Command multi, exec, sort
    cdef public i64 commands
    cdef public object foreign
    cdef public Py_ssize_t at

    @cython.locals(ctx=Context, parser=RequestParser)
    cpdef int run(self, object buf, Py_ssize_t start, Py_ssize_t end, i64 now_ms) except -1
    @cython.locals(row=Command)
    cdef int step(self, Argv argv) except -1
    @cython.locals(out=RespWriter)
    cdef int act(self, Command row, Argv argv) except -1
    cdef Command subcommand(self, Command row, Argv argv)
    cdef int refuse(self, Argv argv) except -1
    cdef int fail(self, Command row, Argv argv, bytes text) except -1
    @cython.locals(out=RespWriter)
    cdef int look_again(self, Command row, Argv argv) except -1
    cdef bint makes_way(self, Command row, list words, bytes reply) except -1
    cdef bint leave_out(self, list words) except -1
    cdef int check_sort(self, Argv argv) except -1
