"""Trees of stream IDs, and how many keys and nodes Redis counts in them.

    python -m server.tests.core.rax_golden PORT

asks a Redis on that port of this machine (its database 0 gets a key ``s``, its
``stream-node-max-entries`` becomes 1, so that each entry is a key of the tree)
and prints the rows again.  The tests use the table in this file.
"""

from __future__ import annotations

import sys

#: IDs added; IDs deleted again; keys; nodes.
TABLE = [
    ("1-0", "", 1, 2),
    ("1-0 2-0", "", 2, 6),
    ("1-0 1-1", "", 2, 4),
    ("1-0 256-0", "", 2, 6),
    ("1-0 1-256", "", 2, 6),
    ("1-0 65536-0 65537-0", "", 3, 10),
    ("1-1 1-2 1-3 2-1 2-2 3-1", "", 6, 13),
    ("1700000000000-0 1700000000001-0 1700000000256-0 1700000065536-0", "", 4, 12),
    ("0-1 18446744073709551615-18446744073709551615", "", 2, 5),
    ("1-0 2-0 3-0", "2-0", 2, 6),
    ("1-0 2-0", "1-0", 1, 2),
    ("1-0 1-256 2-0", "2-0", 2, 6),
    ("1-0 1-256 2-0", "1-256", 2, 6),
    ("1-1 1-2 2-1 2-2", "1-1 2-2", 2, 6),
    ("1-1 1-65536 1-65537", "1-65537", 2, 6),
    ("1-1 1-65536 1-65537", "1-1", 2, 4),
    ("1-0 2-0", "1-0 2-0", 0, 1),
]


def ask_redis(port: int) -> None:
    import redis

    client = redis.Redis(port=port)
    client.config_set("stream-node-max-entries", 1)
    for added, deleted, _, _ in TABLE:
        client.delete("s")
        for entry_id in added.split():
            client.xadd("s", {"f": "v"}, id=entry_id)
        for entry_id in deleted.split():
            client.xdel("s", entry_id)
        info = client.xinfo_stream("s")
        keys, nodes = info["radix-tree-keys"], info["radix-tree-nodes"]
        print(f'    ("{added}", "{deleted}", {keys}, {nodes}),')


if __name__ == "__main__":
    ask_redis(int(sys.argv[1]))
