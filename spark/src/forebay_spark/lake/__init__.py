"""A lake: a Delta table that jobs of Forebay fill, each row once, and that many tools can open.

    stores.py         where a lake is: a folder of this machine, or an object store
    transactions.py   how far each stream and each query is, stored in the table itself
    log.py            its log: read, and kept short
    lake.py           the table: create it, open a version, add to it
    parquet.py        files, written by the tasks that have the rows
    results.py        the same for rows from Spark
    frames.py         the rows of a version, in Spark
    scan_files.py     which files a query opens, from its WHERE alone
    upkeep.py         few large files instead of many small ones; removes old files
    show.py           the contents and history of a lake, for a person
    old.py            converts lakes of the earlier format

Log, checkpoints, statistics, compaction and vacuum are those of the library ``deltalake``.
docs/internals/pipeline.md explains why each row is there once.
"""
