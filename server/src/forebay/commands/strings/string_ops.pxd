# Types of string_ops.py: what SET and GET call.
cimport cython

from forebay.commands.api.context cimport Context
from forebay.core.keyspace cimport Database

cpdef reply_string(Context ctx, bytes value)
cpdef set_string(Context ctx, bytes key, object value, object when_ms=*, bint keep_time=*)
@cython.locals(db=Database)
cpdef hold_string(Context ctx, bytes key, object value, bint keep_time)
