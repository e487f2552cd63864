# Types of replica.py; see there.
from forebay.engine.engine cimport Engine
from forebay.mem cimport i64
from forebay.server.net.timers cimport Clock
from forebay.server.net.turn_end cimport Participant, TurnEnd
from forebay.server.replication.primary cimport PrimarySide
from forebay.server.replication.primary_link cimport PrimaryLink


cdef class ReplicaSide(Participant):
    cdef public object settings, shared, loop, dialer, incoming, live, log, record, unsynced, address
    cdef public Engine engine
    cdef public TurnEnd turn_end
    cdef public PrimarySide side
    cdef public Clock clock
    cdef public PrimaryLink link
    cdef public str state, last_error, story, failover
    cdef public bint knows_place
    cdef public tuple newest
    cdef public int db_index, failures
    cdef public i64 retry_ms, heard_ms, acked_ms, began_ms, synced_offset
