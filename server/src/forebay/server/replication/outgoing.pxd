# Types of outgoing.py; see there.
cimport cython

from forebay.mem cimport i64

from forebay.commands.api.session cimport Session
from forebay.replication.backlog cimport Backlog, Block
from forebay.replication.peers cimport Peer
from forebay.server.net cimport sysio
from forebay.server.net.connection cimport Connection, Shared

cdef i64 NOWHERE


@cython.final
cdef class ReplicaFeed:
    cdef public object side, file, on_room
    cdef public Peer peer
    cdef public Session session
    cdef public i64 heard_bytes, taken_bytes, stuck_looks

    @cython.locals(waiting=Py_ssize_t)
    cpdef bint refill(self, Connection conn, Shared shared) except -1
    @cython.locals(peer=Peer, left=Py_ssize_t, block=Block, at=Py_ssize_t, n=Py_ssize_t, done=Py_ssize_t)
    cdef bint send_stream(self, Connection conn, Shared shared, Backlog backlog) except -1
    cpdef bint has_more(self) except -1
    @cython.locals(backlog=Backlog)
    cpdef i64 owed(self) except? -1
