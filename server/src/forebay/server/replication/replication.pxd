# Types of replication.py; see there.
from forebay.engine.engine cimport Engine
from forebay.server.net.turn_end cimport Participant
from forebay.server.replication.primary cimport PrimarySide


cdef class Replication(Participant):
    cdef public object settings, replica, full_sync, handover, log
    cdef public Engine engine
    cdef public PrimarySide side
    cdef public bint is_started
