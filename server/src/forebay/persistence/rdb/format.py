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

docs/formats/rdb.md describes everything.
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

# Opcodes: they may be at the place where a key begins.
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
#: An AUX field before a stream, for the parts that its type cannot hold.
STREAM_EXTRA = b"forebay-stream"
#: An AUX field at the head of files that Forebay wrote.
WRITTEN_BY = b"forebay-ver"
#: The AUX field with the place of the data in the stream of changes.
STREAM_NAME = b"repl-id"
#: For an older Redis: the owner of entries without an owner; see stream_extra.py.
UNOWNED_CONSUMER = b"forebay:unowned"


class Version(NamedTuple):
    """The formats that a version of Redis reads."""

    rdb: int
    stream_type: int
    redis: bytes


#: The setting that chooses the format -> its meaning.
VERSIONS = {
    "7.0": Version(10, STREAM_2, b"7.0.15"),
    "7.2": Version(11, STREAM_3, b"7.2.0"),
    "7.4": Version(12, STREAM_3, b"7.4.0"),
    "8.6": Version(13, STREAM_4, b"8.6.0"),
    "8.8": Version(14, STREAM_5, b"8.8.0"),
}
DEFAULT_VERSION = "7.0"
#: The first version of RDB with each stream type.
STREAM_TYPE_SINCE = {STREAM_1: 9, STREAM_2: 10, STREAM_3: 11, STREAM_4: 13, STREAM_5: 14}
