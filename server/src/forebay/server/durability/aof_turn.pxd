# Types of aof_turn.py; see there.
cimport cython

from forebay.commands.api.effects cimport Effects
from forebay.persistence.aof.writer cimport AofWriter
from forebay.server.net.turn_end cimport EffectsReader


cdef class TurnAof(EffectsReader):
    cdef public Effects effects
    cdef public object is_needed, on_refusal
    cdef public AofWriter aof
    cdef public bint sync_each, is_held
    cdef public long long written
    cpdef read(self, Effects effects)
    cpdef bint wants_effects(self) except -1
    @cython.locals(aof=AofWriter, effects=Effects)
    cpdef int write(self) except -1
