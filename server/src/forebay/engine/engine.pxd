# Types of engine.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.access.user cimport User
from forebay.commands.api.context cimport Context
from forebay.commands.api.effects cimport Effects
from forebay.commands.api.session cimport Session
from forebay.commands.api.spec cimport Command
from forebay.core.keyspace cimport Keyspace
from forebay.engine cimport admission
from forebay.engine.blocking cimport Blocked, Blocking, Machine
from forebay.engine.call_counts cimport CallCounts
from forebay.engine.names cimport Names
from forebay.engine.sessions cimport Sessions
from forebay.engine.stats cimport Stats
from forebay.engine.ticker cimport Ticker
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef int DASH
cdef int ADMIN_FLAG
cdef i64 NEVER_US
cdef i64 EXPIRY_PERIOD_MS
cdef int ONLY_IN_MULTI, IS_RESTRICTED, QUEUE_FLAGS
cdef bytes QUEUED
cdef int IS_MONITORED, IS_PAUSED, IS_LINK, MUTES, IS_TRACKING


cdef class Engine(Machine):
    cdef public object settings, services
    cdef public Ticker ticker
    cdef public object commands
    cdef Names names
    cdef public Keyspace keyspace
    cdef public list ready
    cdef public Stats stats
    cdef public CallCounts call_counts
    cdef public Blocking blocking
    cdef public Sessions sessions
    cdef public object idmp_cycle, pubsub, tracking, slowlog, latency, monitors, pausing, faults
    cdef public object access
    cdef public Effects effects
    cdef public int gate
    cdef public i64 slow_us, started_us, expiry_ms, next_expiry_ms
    cdef public bytes misconf_text
    cdef public bint is_running, active_expire, is_replica, has_news
    cdef public int good_replicas

    cpdef refresh_settings(self)
    cpdef set_gate(self, int bit, bint on)
    cpdef Session new_session(self, bytes addr=*, bytes laddr=*, int fd=*, i64 now_ms=*)
    cpdef close_session(self, Session session)
    cpdef int call(self, Session session, Argv argv, i64 now_ms) except -1
    @cython.locals(row=Command, gate=int)
    cdef int dispatch(self, Session session, Argv argv) except -1
    @cython.locals(user=User)
    cdef bint is_allowed(self, Session session, Command row, Argv argv) except -1
    @cython.locals(kept=Argv, queue=list)
    cpdef int enqueue(self, Session session, Command row, Argv argv) except -1
    @cython.locals(ctx=Context)
    cdef int execute(self, Session session, Command row, Argv argv) except -1
    @cython.locals(out=RespWriter, mark=Py_ssize_t, started=i64, ended=i64, blocked=Blocked)
    cdef int run(self, Session session, Command row, Argv argv) except -1
    @cython.locals(mark=Py_ssize_t, is_link=int)
    cdef guarded(self, Session session, Argv argv, Command row)
    @cython.locals(sub=Command)
    cdef Command resolve(self, Session session, Argv argv, Command row)
    cdef bint admit(self, Session session, Command row, Argv argv) except -1
    cpdef reject(self, Session session, Command row, bytes text)
    cpdef invoke(self, Command row, Argv argv)
    cpdef i64 wall_us(self) except? -1
    cpdef catch_up(self)
    cpdef redo(self, Session session, Argv argv)
    cpdef finish(self, Session session, Blocked state, bytes error, Py_ssize_t mark)
    cpdef before_sleep(self, i64 now_ms)
    @cython.locals(soonest=i64, wait_ms=i64)
    cpdef i64 next_deadline_ms(self) except? -2
    cpdef list take_touched(self)
