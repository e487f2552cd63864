"""A lake: a Delta table that jobs of Forebay fill, each row once, and that many tools can open.

    stores.py         where a lake is: a folder of this machine, or an object store
    transactions.py   how far each stream and each query is in the table, inside of it
    log.py            its log: read, and kept short
    lake.py           the table: made, opened at a version, added to
    parquet.py        files by the tasks that have the rows
    results.py        the same for rows that come out of Spark
    frames.py         the rows of a version, in Spark
    scan_files.py     which files a query opens, from its WHERE alone
    upkeep.py         few large files instead of many small ones; old files are removed
    show.py           what a lake holds and how it came to be, for a person
    old.py            lakes of the format before, taken over

Log, checkpoints, statistics, compaction and vacuum are those of the library ``deltalake``.
docs/internals/pipeline.md tells why each row is there once.
"""
