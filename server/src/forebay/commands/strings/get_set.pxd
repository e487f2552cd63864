# Types of get_set.py: only what clients call in a loop.
cimport cython

from forebay.commands.api.context cimport Context
from forebay.commands.strings.string_ops cimport reply_string, set_string
from forebay.wire.argv cimport Argv

cdef Py_ssize_t PLAIN_SET

cpdef set_(Context ctx, Argv argv)
@cython.locals(key=bytes)
cdef set_plain(Context ctx, Argv argv)
@cython.locals(key=bytes)
cpdef setnx(Context ctx, Argv argv)
cpdef get(Context ctx, Argv argv)
