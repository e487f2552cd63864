"""Change capture: changes of a SQLite table to a stream, from there to a lake, and SQL over both.

    customers --> outbox --> relay --> example:customers --> archive --> a Delta table
                                             |                                |
                                             +---- hot ---- one table ---- cold
                                                               |
                                  history of a customer, the table as it is now

The archive is what `forebay pipeline archive --stream example:customers --lake lake` runs, with the
fields as columns.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from examples.change_capture.table import RELAYED, STREAM, open_table, relay, tidy
from examples.server import connect, url
from examples.with_spark import told_with_spark
from forebay_spark import table
from forebay_spark.pipeline.archive import Archive
from forebay_spark.pipeline.spec import Source

FIELDS = "n bigint, change string, id bigint, name string, city string"
HISTORY = "SELECT n, change, city FROM changes WHERE id = 1 ORDER BY n"
NOW = """
    SELECT id, name, city
    FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY n DESC) AS age FROM changes)
    WHERE age = 1 AND change <> 'delete' ORDER BY id
"""


def change_customers(db: sqlite3.Connection) -> None:
    """A day in the shop; one transaction is rolled back and leaves no trace."""
    with db:
        rows = [(1, "ann", "Rome"), (2, "bob", "Oslo"), (3, "cid", "Bonn")]
        db.executemany("INSERT INTO customers VALUES (?, ?, ?)", rows)
    with db:
        db.execute("UPDATE customers SET city = 'Lima' WHERE name = 'ann'")
        db.execute("DELETE FROM customers WHERE name = 'cid'")
    db.execute("DELETE FROM customers")
    db.rollback()


def archive(spark: Any, lake: Path) -> None:
    """The stream to its present end, each entry once."""
    source = Source(url=url(), streams=(STREAM,), schema=FIELDS)
    Archive(source=source, lake=str(lake)).start(spark).wait()


def tell(spark: Any, folder: Path) -> None:
    """Run the whole example."""
    db, lake = open_table(), folder / "lake"
    with connect(STREAM, RELAYED) as client:
        change_customers(db)
        print(f"{relay(db, client)} changes are in the stream; ", end="")
        print(f"a relay that starts again brings {relay(db, client)}")
        tidy(db, client)
        archive(spark, lake)
        with db:
            db.execute("UPDATE customers SET city = 'Cairo' WHERE name = 'ann'")
        print(f"archived; {relay(db, client)} change came later and is hot")

    table(spark, STREAM, lake=str(lake), url=url()).createOrReplaceTempView("changes")
    print("ann's history:")
    for row in spark.sql(HISTORY).collect():
        print(f"  {row['n']} {row['change']:6} {row['city']}")
    now = [tuple(row) for row in spark.sql(NOW).collect()]
    truth = [tuple(row) for row in db.execute("SELECT * FROM customers ORDER BY id")]
    print(f"the table from its changes: {now}")
    print(f"the same as in SQLite: {now == truth}")
    db.close()


if __name__ == "__main__":
    told_with_spark(tell, "change capture", STREAM)
