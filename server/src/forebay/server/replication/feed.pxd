# Types of feed.py; see there.
from forebay.commands.api.effects cimport Effects
from forebay.server.net.turn_end cimport EffectsReader
from forebay.server.replication.primary cimport PrimarySide


cdef class Feed(EffectsReader):
    cdef public PrimarySide side
    cdef public object live
    cpdef read(self, Effects effects)
    cpdef bint wants_effects(self) except -1
