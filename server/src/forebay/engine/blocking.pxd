# Types of blocking.py; see there.
cimport cython

from forebay.commands.api.context cimport Context
from forebay.commands.api.session cimport Session
from forebay.core.keyspace cimport Database, Keyspace
from forebay.engine.deadlines cimport Deadlines
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv


@cython.final
cdef class Queue:
    cdef public dict sessions
    cdef public Py_ssize_t on_missing


@cython.final
cdef class Blocked:
    cdef public int kind
    cdef public Database db
    cdef public list keys
    cdef public Argv argv
    cdef public object row, on_timeout, deadline
    cdef public bint on_missing_key, queued
    cdef public long long spent_us


@cython.final
cdef class Blocking:
    cdef public Keyspace keyspace
    cdef public object machine
    cdef public dict postponed
    cdef Context ctx
    cdef public Deadlines deadlines, alarms
    cdef public dict alarm_of
    cdef public Py_ssize_t blocked_clients, blocking_keys, blocking_keys_on_missing
    cdef public Blocked before

    @cython.locals(before=Blocked, state=Blocked)
    cpdef block(
        self, Session session, int kind, list keys, long long timeout_ms, Argv argv,
        bint on_missing_key=*, object wake_at_ms=*, object on_timeout=*,
    )
    cdef wait(self, Session session, Blocked state)
    @cython.locals(queue=Queue)
    cdef wait_again(self, Session session, Blocked state)
    @cython.locals(before=Blocked, deadline_ms=object)
    cdef set_deadline(self, Session session, Blocked state, long long timeout_ms)
    @cython.locals(queue=Queue)
    cdef enqueue(self, Session session, Blocked state, bytes key)
    cdef set_alarms(self, Blocked state, object wake_at_ms)
    cpdef postpone(self, Session session, Argv argv)
    cpdef bint is_rerun(self) except -1
    cdef Blocked leave(self, Session session)
    cdef leave_queues(self, Session session, Blocked state)
    @cython.locals(queue=Queue)
    cdef dequeue(self, Session session, Blocked state, bytes key)
    cpdef drop(self, Session session)
    cdef cancel_deadline(self, Blocked state)
    @cython.locals(state=Blocked)
    cpdef bint unblock(self, Session session, bytes error) except -1
    cpdef serve(self)
    @cython.locals(queue=Queue, session=Session, state=Blocked)
    cdef serve_key(self, Database db, bytes key)
    @cython.locals(state=Blocked)
    cdef wake(self, Session session)
    cpdef resume(self)
    @cython.locals(now_ms="long long")
    cpdef tick(self)
    cpdef shift_times(self, long long by_ms)
    @cython.locals(soonest_ms="long long", alarm_ms="long long")
    cpdef i64 next_ms(self) except? -2


cdef bint waits_for(Session session, Blocked state) noexcept
cdef list distinct(list keys)

cdef bint wakes(object value, Blocked state) except -1
