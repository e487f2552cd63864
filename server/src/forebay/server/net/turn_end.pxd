# Types of turn_end.py; see there.
cimport cython

from forebay.commands.api.effects cimport Effects


cdef class EffectsReader:
    cdef public bint is_off
    cpdef read(self, Effects effects)
    cpdef bint wants_effects(self) except -1


cdef class Participant:
    cpdef beat(self)
    cpdef work(self)
    cpdef settle(self)


@cython.final
cdef class TurnEnd:
    cdef public Effects effects
    cdef public list readers, participants
    cdef public Participant worker
    cdef public bint is_asked, is_expecting, has_confirmed

    cpdef join(self, Participant participant)
    cpdef add_reader(self, EffectsReader reader)
    cpdef ask(self)
    cpdef begin_work(self, Participant worker)
    cpdef end_work(self)
    @cython.locals(participant=Participant)
    cpdef beat(self)
    cpdef int before_replies(self) except -1
    @cython.locals(reader=EffectsReader)
    cdef int hand_out(self) except -1
    cpdef read_now(self)
    @cython.locals(participant=Participant)
    cdef settle(self)
