"""The numbers of the RDB format: opcodes, value types, string encodings, versions.

    REDIS0010                          magic and version
    FA name value ...                  facts about the file
    FE number  FB keys expires         a database begins
    [FC time] type key value ...       its keys
    FF checksum                        the end

Lengths are 6, 14, 32 or 64 bits, chosen by the first byte:

    00nnnnnn                  6 bits
    01nnnnnn nnnnnnnn         14 bits
    10000000 + 4 bytes        32 bits, big-endian
    10000001 + 8 bytes        64 bits, big-endian
    11eeeeee                  not a length: an encoded string, see ENCODED_*

docs/formats/rdb.md tells the whole story.
"""

from __future__ import annotations

from typing import NamedTuple

MAGIC = b"REDIS"
HEAD_SIZE = 9
OLDEST_VERSION = 1
NEWEST_VERSION = 15
#: Files of this version and later end in a checksum.
CHECKSUM_SINCE = 5
CHECKSUM_SIZE = 8

# What may stand where a key begins.
KEY_META = 243
SLOT_INFO = 244
FUNCTION = 245
FUNCTION_OLD = 246
MODULE_AUX = 247
IDLE = 248
FREQ = 249
AUX = 250
RESIZE = 251
EXPIRE_MS = 252
EXPIRE_S = 253
SELECT = 254
END = 255

# First bytes of lengths and of encoded strings.
LENGTH_32 = 128
LENGTH_64 = 129
INT8 = 192
INT16 = 193
INT32 = 194
LZF = 195

# Types of values that are read.
STRING = 0
LIST = 1
SET = 2
LIST_ZIPLIST = 10
SET_INTSET = 11
LIST_QUICKLIST = 14
STREAM_1 = 15
LIST_QUICKLIST_2 = 18
STREAM_2 = 19
SET_LISTPACK = 20
STREAM_3 = 21
STREAM_4 = 26
STREAM_5 = 27

#: Stream types, oldest first: each holds what the one before holds, and more.
STREAM_TYPES = (STREAM_1, STREAM_2, STREAM_3, STREAM_4, STREAM_5)
#: An AUX field in front of a stream that says what its type cannot.
STREAM_EXTRA = b"forebay-stream"
#: An AUX field at the head of files that Forebay wrote.
WRITTEN_BY = b"forebay-ver"
#: The AUX field that names the stream of changes in which the data stands.
STREAM_NAME = b"repl-id"
#: Who owns, for an older Redis, what nobody owns: see snapshot.py.
UNOWNED_CONSUMER = b"forebay:unowned"


class Version(NamedTuple):
    """What a Redis of some version reads."""

    rdb: int
    stream_type: int
    redis: bytes


#: The setting that chooses what is written -> what that means.
VERSIONS = {
    "7.0": Version(10, STREAM_2, b"7.0.15"),
    "7.2": Version(11, STREAM_3, b"7.2.0"),
    "7.4": Version(12, STREAM_3, b"7.4.0"),
    "8.6": Version(13, STREAM_4, b"8.6.0"),
    "8.8": Version(14, STREAM_5, b"8.8.0"),
}
DEFAULT_VERSION = "7.0"
#: The version of RDB that first had a stream type.
STREAM_TYPE_SINCE = {STREAM_1: 9, STREAM_2: 10, STREAM_3: 11, STREAM_4: 13, STREAM_5: 14}
