# Types of connection.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.session cimport Session
from forebay.engine.engine cimport Engine
from forebay.mem cimport u8
from forebay.server.net cimport sysio
from forebay.server.net.tls_channel cimport TlsChannel
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter
from forebay.wire.request cimport Limits, RequestParser

cdef Py_ssize_t READ_BYTES, LARGE_READ_BYTES, SMALL_BYTES, RUN_BYTES, BURST_BYTES, PAUSE_BYTES
cdef Py_ssize_t STRANGER_HELD_BYTES, STRANGER_BURST_BYTES, SEND_BYTES
cdef Py_ssize_t PEEK_BYTES
cdef long long LIGHT_BYTES, UNKNOWN, DOUBTFUL
cdef int STARVED, BUSY, STALLED, IS_STRANGER


@cython.final
cdef class Shared:
    cdef public Engine engine
    cdef public long long now_ms
    cdef bytearray buf
    cdef u8* p
    cdef public Limits trusted, strangers
    cdef RequestParser parser
    cdef public long long query_limit_bytes, produced, bytes_in, bytes_out


@cython.final
cdef class Connection:
    cdef public int fd
    cdef public Session session
    cdef public RespWriter out
    cdef public TlsChannel channel
    cdef public object source, sink
    cdef public RequestParser parser
    cdef public bytearray held
    cdef public Py_ssize_t start, end
    cdef public bint more, queued, busy, ended, leaving, deaf, is_full
    cdef public int watching, seconds_closing, error_number
    cdef public long long over_since_ms, weight, counted_bytes
    cdef public str fault, offence

    @cython.locals(at=Py_ssize_t, n=Py_ssize_t, parser=RequestParser)
    cpdef bint read(self, Shared shared) except -1
    @cython.locals(n=Py_ssize_t)
    cdef bint read_own(self, Shared shared) except -1
    cdef bint no_bytes(self, Py_ssize_t result) except -1
    cpdef int resume(self, Shared shared) except -1
    @cython.locals(parser=RequestParser)
    cdef int run_held(self, Shared shared, bytearray held) except -1
    @cython.locals(before=Py_ssize_t, state=int)
    cdef int run(self, Shared shared, RequestParser parser) except -1
    @cython.locals(
        session=Session, out=RespWriter, argv=Argv, last_pos=Py_ssize_t, last_size=Py_ssize_t
    )
    cdef int run_commands(self, Shared shared, RequestParser parser) except -1
    cpdef bint stalled(self) except -1
    cpdef bint has_no_more_to_do(self) except -1
    @cython.locals(n=Py_ssize_t)
    cpdef bint is_light(self, Shared shared) except -1
    @cython.locals(n=Py_ssize_t)
    cdef int hold(self, Shared shared, RequestParser parser, Py_ssize_t end) except -1
    @cython.locals(size=Py_ssize_t, room=Py_ssize_t)
    cdef int make_room(self, Py_ssize_t n) except -1
    @cython.locals(size=Py_ssize_t)
    cdef bint within_limit(self, Shared shared) except -1
    cdef int count_in(self, Shared shared, Py_ssize_t n) except -1
    @cython.locals(n=Py_ssize_t)
    cpdef bint flush(self, Shared shared) except -1
    @cython.locals(first=bytearray, at=Py_ssize_t, n=Py_ssize_t)
    cdef bint flush_aside(self, Shared shared) except -1
    cdef bint not_sent(self, Py_ssize_t result) except -1
    cpdef Py_ssize_t send_from(self, Shared shared, bytearray buf, Py_ssize_t at, Py_ssize_t n) except? -1
    cdef int count_out(self, Shared shared, Py_ssize_t n) except -1
    @cython.locals(got=Py_ssize_t)
    cpdef Py_ssize_t receive_into(self, Shared shared, bytearray buf, Py_ssize_t at, Py_ssize_t n) except? -1
    cdef Py_ssize_t pull(self, u8* p, Py_ssize_t at, Py_ssize_t n) except? -1
    cdef Py_ssize_t push(self, Py_ssize_t n) except? -1


cdef bint asks_little(Shared shared, Py_ssize_t n) except -1
