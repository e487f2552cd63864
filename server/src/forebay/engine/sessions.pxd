# Types of sessions.py; see there.
cimport cython

from forebay.commands.api.session cimport Session


@cython.final
cdef class Sessions:
    cdef public dict by_number
    cdef public list touched_sessions
    cdef public long long last_number

    cpdef long long new_number(self)
    cpdef add(self, Session session)
    cpdef remove(self, Session session)
    cpdef Session get(self, object number)
    cpdef touched(self, Session session)
    @cython.locals(sessions=list, session=Session)
    cpdef list take_touched(self)
    @cython.locals(session=Session)
    cpdef shift_times(self, long long by_ms)
    cpdef close(self, Session session)
