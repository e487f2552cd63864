# Types of loop.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.commands.api.session cimport Session
from forebay.engine.engine cimport Engine
from forebay.engine.stats cimport Stats
from forebay.mem cimport u64
from forebay.server.net cimport sysio
from forebay.server.net.connection cimport Shared, Connection
from forebay.server.net.lookout cimport Lookout
from forebay.server.net.timers cimport Clock
from forebay.server.net.turn_end cimport TurnEnd
from forebay.wire.resp_writer cimport RespWriter

cdef int READ, WRITE, MAX_EVENTS
cdef long long TURN_BYTES, FREE_BYTES, SPARE_BYTES, STEP_MS


@cython.final
cdef class Loop:
    cdef public Shared shared
    cdef public Clock clock
    cdef public object host, epoll
    cdef int epoll_fd
    cdef array.array events
    cdef public list by_fd
    cdef public dict watchers
    cdef public int count
    cdef list to_settle, busy, held
    cdef public list doomed
    cdef public long long doomed_bytes
    cdef public TurnEnd turn_end
    cdef public Lookout for_answers, for_requests
    cdef Lookout looking
    cdef public bint is_stopping, is_crowded, is_counting
    cdef public long long next_beat_ms, beat_ms
    cdef long long steady_ms, offset_ms, woke_us
    cdef public bint running

    @cython.locals(fd=int)
    cpdef close(self, Connection conn)
    cdef doom(self, RespWriter out)
    @cython.locals(shared=Shared, w="u64*", ready=int, step_ms="long long")
    cpdef int turn(self) except -1
    @cython.locals(timeout_ms=int, ready=int)
    cdef int wait(self, u64* w) except? -1
    @cython.locals(until_us="long long", ready=int)
    cdef int look(self, u64* w, Lookout lookout) except? -1
    @cython.locals(left="long long")
    cdef int let_go(self) except -1
    cdef follow_clock(self)
    cdef int between(self) except -1
    @cython.locals(
        stats=Stats, now_us="long long", wait_ms="long long", deadline_ms="long long"
    )
    cdef int end_turn(self) except -1
    @cython.locals(conn=Connection)
    cdef int serve(self, Py_ssize_t fd, int mask) except -1
    @cython.locals(i=int)
    cdef int serve_all(self, u64* w, int ready) except -1
    @cython.locals(conn=Connection, i=int, at=int, is_new=bint, found=bint)
    cdef bint serve_light(self, u64* w, int ready) except -1
    cdef tell(self, int fd)
    @cython.locals(alive=bint)
    cpdef int read(self, Connection conn) except -1
    @cython.locals(conn=Connection, busy=list)
    cdef int run_busy(self) except -1
    cpdef int queue(self, Connection conn) except -1
    @cython.locals(session=Session, conn=Connection, asked=list)
    cdef int settle_all(self) except -1
    @cython.locals(lookout=Lookout)
    cdef choose_look(self)
    @cython.locals(conn=Connection, held=list)
    cdef int settle_held(self) except -1
    cdef int settle_asked(self, Connection conn) except -1
    @cython.locals(session=Session, conn=Connection)
    cpdef close_recipients(self)
    cdef int settle(self, Connection conn) except -1
    cdef bint send(self, Connection conn) except -1
    @cython.locals(mask=int)
    cdef int keep(self, Connection conn) except -1


cdef bint may_get_more(Connection conn) except -1
