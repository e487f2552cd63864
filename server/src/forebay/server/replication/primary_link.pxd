# Types of primary_link.py; see there.
cimport cython

from forebay.mem cimport i64

from forebay.commands.api.session cimport Session
from forebay.engine.apply cimport Applier
from forebay.engine.engine cimport Engine
from forebay.server.net.connection cimport Connection, Shared

cdef Py_ssize_t BUFFER_BYTES, LEAST_ROOM


@cython.final
cdef class PrimaryLink:
    cdef public object owner, handshake, copy
    cdef public Engine engine
    cdef public Shared shared
    cdef public Session session
    cdef public Connection conn
    cdef public Applier applier
    cdef public str mode, fault
    cdef public bytearray buf
    cdef public Py_ssize_t start, end
    cdef public i64 seen_bytes

    cpdef send(self, bytes data)
    @cython.locals(n=Py_ssize_t)
    cpdef bint receive(self, Connection conn) except -1
    cpdef bint digest(self) except -1
    cdef make_room(self)
    @cython.locals(at=Py_ssize_t)
    cpdef bint take_units(self) except -1
