# Types of blocking.py; see there.
cimport cython

from forebay.commands.api.context cimport Context
from forebay.commands.api.session cimport Session
from forebay.commands.api.waits cimport Waits
from forebay.core.keyspace cimport Database, Keyspace, Waiting
from forebay.engine.deadlines cimport Deadline, Deadlines
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv


@cython.final
cdef class Queue(Waiting):
    cdef public dict sessions
    cdef public Py_ssize_t on_missing


@cython.final
cdef class Blocked:
    cdef public int kind
    cdef public Database db
    cdef public list keys
    cdef public Argv argv
    cdef public object row, on_timeout
    cdef public Deadline deadline
    cdef public bint on_missing_key, queued
    cdef public long long spent_us
    cdef Queue spare


cdef class Machine:
    cdef public Context ctx
    cpdef catch_up(self)
    cpdef redo(self, Session session, Argv argv)
    cpdef finish(self, Session session, Blocked state, bytes error, Py_ssize_t mark)


cdef class Blocking(Waits):
    cdef public Keyspace keyspace
    cdef public Machine machine
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
    @cython.locals(state=Blocked)
    cpdef bint block_as_before(
        self, Session session, int kind, long long timeout_ms, Argv argv
    ) except -1
    cdef wait(self, Session session, Blocked state)
    @cython.locals(queue=Queue)
    cdef wait_again(self, Session session, Blocked state)
    cdef set_deadline(self, Session session, Blocked state, long long timeout_ms)
    @cython.locals(queue=Queue)
    cdef enqueue(self, Session session, Blocked state, bytes key)
    @cython.locals(queue=Queue)
    cdef Queue new_queue(self, Blocked state, bytes key)
    cdef Queue queue_of(self, Database db, bytes key)
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
    @cython.locals(ready=list, at=Py_ssize_t, queue=Queue)
    cpdef serve(self)
    @cython.locals(db=Database, key=bytes, session=Session, state=Blocked)
    cdef serve_queue(self, Queue queue)
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
