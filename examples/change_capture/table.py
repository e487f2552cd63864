"""The table, and how its changes reach the stream.

    customers --triggers--> outbox (in the same transaction, numbered)
    relay     MULTI, XADD example:customers * change ..., SET example:customers:relayed <n>, EXEC

A change is in the outbox if and only if it was committed.  The relay keeps its place on the server,
in one transaction with the entries.  So it may be killed anywhere: it continues after the last
change that is in the stream, and no change is there twice.
"""

from __future__ import annotations

import sqlite3
from typing import Any

STREAM, RELAYED = "example:customers", "example:customers:relayed"
BATCH = 100

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE outbox (
    n INTEGER PRIMARY KEY AUTOINCREMENT, change TEXT NOT NULL, id INTEGER NOT NULL,
    name TEXT NOT NULL, city TEXT NOT NULL
);
CREATE TRIGGER inserted AFTER INSERT ON customers BEGIN
    INSERT INTO outbox (change, id, name, city) VALUES ('insert', new.id, new.name, new.city);
END;
CREATE TRIGGER updated AFTER UPDATE ON customers BEGIN
    INSERT INTO outbox (change, id, name, city) VALUES ('update', new.id, new.name, new.city);
END;
CREATE TRIGGER deleted AFTER DELETE ON customers BEGIN
    INSERT INTO outbox (change, id, name, city) VALUES ('delete', old.id, old.name, old.city);
END;
"""


def open_table() -> sqlite3.Connection:
    """The database of a small shop, in memory."""
    db = sqlite3.connect(":memory:")
    db.row_factory = sqlite3.Row
    db.executescript(SCHEMA)
    return db


def relay(db: sqlite3.Connection, client: Any) -> int:
    """Bring all committed changes to the stream; returns how many."""
    count = 0
    while True:
        place = int(client.get(RELAYED) or 0)
        found = db.execute("SELECT * FROM outbox WHERE n > ? ORDER BY n LIMIT ?", (place, BATCH))
        changes = [dict(row) for row in found]
        if not changes:
            return count
        with client.pipeline(transaction=True) as pipe:
            for change in changes:
                pipe.xadd(STREAM, change)
            pipe.set(RELAYED, changes[-1]["n"])
            pipe.execute()
        count += len(changes)


def tidy(db: sqlite3.Connection, client: Any) -> None:
    """Delete the changes that are in the stream; a relay killed before this does no harm."""
    with db:
        db.execute("DELETE FROM outbox WHERE n <= ?", (int(client.get(RELAYED) or 0),))
