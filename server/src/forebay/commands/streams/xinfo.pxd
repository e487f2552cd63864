# Types of xinfo.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.streams cimport entry_writer
from forebay.commands.api.context cimport Context
from forebay.core.cursor cimport Cursor
from forebay.core.group cimport Consumer, Group
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

@cython.locals(stream=Stream, out=RespWriter, group=Group)
cpdef xinfo_stream(Context ctx, Argv argv)

cdef Stream _stream(Context ctx, Argv argv)
cdef _name(RespWriter out, bytes name)
cdef _number(RespWriter out, bytes field, object value)
cdef _id(RespWriter out, bytes field, u64 ms, u64 seq)
cdef _common(RespWriter out, Stream stream)

@cython.locals(cursor=Cursor)
cdef Cursor _all_entries(Stream stream, bint reverse)

@cython.locals(cursor=Cursor)
cdef _end_entry(RespWriter out, bytes field, Stream stream, bint reverse)
cdef _progress(RespWriter out, Stream stream, Group group)
