# Types of scanner.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport i64, u8, u32, u64
from forebay.persistence.aof cimport crc32

cdef int PASSED
cdef int MORE_PLEASE, REFUSED, TOO_LONG
cdef int STAR, HASH, DOLLAR, CR, LF
cdef Py_ssize_t LONGEST_LINE, LONGEST_HEADER, SEAL_SIZE, SHORTEST_WORD
cdef bytes SEAL_HEAD, SYNC_HEAD, TURN_HEAD, REPL_HEAD, MULTI_WORD, EXEC_WORD


@cython.final
cdef class AofScanner:
    cdef readonly bytearray buf
    cdef u8* p
    cdef public Py_ssize_t start        # good to run: buf[start:good]
    cdef readonly Py_ssize_t good
    cdef readonly Py_ssize_t out        # end of the packed bytes
    cdef readonly Py_ssize_t pos        # first byte not walked yet
    cdef readonly Py_ssize_t end        # end of the bytes in the window
    cdef public Py_ssize_t limit        # FULL when this many bytes are good to run
    cdef readonly Py_ssize_t want       # index up to which the window must be filled
    cdef readonly i64 file_size, shift
    cdef readonly str reason
    cdef readonly u32 crc, unit_crc, seal_crc
    cdef readonly bint in_multi
    cdef readonly Py_ssize_t unit_end
    cdef readonly i64 unit_at, seal_at, good_at, trusted, synced, next_synced
    cdef readonly bytes position, next_position
    cdef readonly i64 commands, units, seals, units_since_seal, joined
    cdef array.array turns              # pairs: index of a packed byte, its place in the file
    cdef Py_ssize_t n_turns

    @cython.locals(kind=int, code=int)
    cpdef int step(self) except -1
    @cython.locals(at=Py_ssize_t, end=Py_ssize_t)
    cdef int pass_command(self) except -1
    cdef int stopped(self, Py_ssize_t end) except -1
    cdef int end_unit(self) except -1
    @cython.locals(p="u8*", end=Py_ssize_t, at=Py_ssize_t, left=i64, n=i64)
    cdef Py_ssize_t walk_command(self) except -9
    @cython.locals(left=i64, at=Py_ssize_t)
    cdef (i64, Py_ssize_t) count_words(self) except *
    cdef (i64, Py_ssize_t) word_size(self, Py_ssize_t at) except *
    @cython.locals(stop=Py_ssize_t, lf=Py_ssize_t, ok=bint, n=i64)
    cdef (i64, Py_ssize_t) number(self, Py_ssize_t at) except *
    cdef Py_ssize_t missing(self, Py_ssize_t at, i64 n) except -9
    cdef Py_ssize_t at_end(self) except -9
    @cython.locals(p="u8*")
    cdef bint is_word(self, Py_ssize_t at, const u8* word, Py_ssize_t n) noexcept
    @cython.locals(at=Py_ssize_t, stop=Py_ssize_t, lf=Py_ssize_t)
    cdef int pass_line(self) except -1
    cdef bint pass_seal(self, Py_ssize_t end) except -1
    cdef int refuse_seal(self, Py_ssize_t end) except -1
    @cython.locals(p="u8*", at=Py_ssize_t, value=i64, i=Py_ssize_t, digit=int)
    cdef i64 seal_value(self, Py_ssize_t end) noexcept
    @cython.locals(at=Py_ssize_t, ok=bint, offset=i64)
    cdef int pass_mark(self, Py_ssize_t lf) except -1
    @cython.locals(ok=bint, count=i64)
    cdef int pass_join(self, Py_ssize_t lf) except -1
    cpdef bint lacks_seals(self)
    cpdef trust(self, i64 offset)
    @cython.locals(drop=Py_ssize_t, rest=Py_ssize_t, keep=Py_ssize_t, room=Py_ssize_t)
    cpdef Py_ssize_t make_room(self, Py_ssize_t least) except -1
    @cython.locals(n=Py_ssize_t)
    cpdef add(self, bytes data)
    @cython.locals(n=Py_ssize_t, w="u64*")
    cdef int turn(self) except -1
    @cython.locals(first=Py_ssize_t, i=Py_ssize_t, place=i64)
    cdef drop_turns(self, Py_ssize_t drop)
    @cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t)
    cdef Py_ssize_t find_turn(self, Py_ssize_t at) except -1
    cpdef i64 offset_of(self, Py_ssize_t at) except -1
