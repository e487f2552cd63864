# Types of primary.py; see there.
cimport cython

from forebay.mem cimport i64

from forebay.commands.api.effects cimport Effects
from forebay.commands.api.session cimport Session
from forebay.engine.engine cimport Engine
from forebay.replication.backlog cimport Backlog
from forebay.replication.peers cimport Peer, Peers
from forebay.server.net.timers cimport Clock
from forebay.server.net.turn_end cimport EffectsReader, TurnEnd
from forebay.server.replication.outgoing cimport ReplicaFeed

cdef bytes GETACK


@cython.final
cdef class Waiter:
    cdef Session session
    cdef object state, is_enough


@cython.final
cdef class PrimarySide:
    cdef public object settings, new_id, log, history, copies, followed
    cdef public Clock clock
    cdef public Engine engine
    cdef public TurnEnd turn_end
    cdef public Backlog backlog
    cdef public Peers peers
    cdef public dict feeds
    cdef public EffectsReader reader
    cdef public bint is_leading, is_quiet, wants_acks
    cdef public list waiters
    cdef public i64 pinged_ms, seconds_ms, alone_since_ms
    cdef public bytes held_back

    cpdef where(self)
    @cython.locals(backlog=Backlog)
    cpdef take(self, Effects effects)
    cdef hold_back(self, bytes data)
    @cython.locals(effects=Effects)
    cpdef inject(self, bytes data)
    cpdef pass_stream_on(self, bytearray buf, Py_ssize_t at, Py_ssize_t n)
    @cython.locals(feed=ReplicaFeed)
    cdef grown(self, Backlog backlog)
    @cython.locals(backlog=Backlog)
    cpdef release(self)
    cpdef Peer link_of(self, Session session)
    @cython.locals(peer=Peer)
    cpdef acked(self, Session session, i64 offset, i64 synced)
    @cython.locals(effects=Effects)
    cpdef wait(self, Session session, object is_enough)
    @cython.locals(waiter=Waiter, still=list)
    cpdef wake(self)
    cpdef ask_replicas(self)
    cpdef settle(self)
