"""A folder of files with a commit log, which makes writing to it atomic and exactly once.

Read ``commits.py`` (what a commit says), then ``log.py`` (how commits get their order),
then ``lake.py`` (rows in, rows out).  docs/internals/pipeline.md tells why.
"""
