cimport cython

from forebay.core.group cimport Consumer, Group, is_referenced, min_last_id
from forebay.core.pel cimport Pending
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64

@cython.locals(i=i64)
cpdef int add_in_order(Pending pending, i64 owner_no, i64 n) except -1
@cython.locals(i=i64)
cpdef int deliver(Group group, Stream stream, Consumer consumer, i64 n) except -1
@cython.locals(at=i64, _=i64)
cpdef int ack(Group group, i64 n, i64 step) except -1
@cython.locals(at=i64, i=i64)
cpdef int claim(Group group, Consumer consumer, i64 n, i64 step) except -1
@cython.locals(total=i64, slot=i64)
cpdef i64 walk(Pending pending) except -1
@cython.locals(at=i64, found=i64, _=i64, low_ms=u64, low_seq=u64)
cpdef i64 ask(Stream stream, i64 n, i64 step) except -1
