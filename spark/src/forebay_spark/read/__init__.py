"""The way in: from positions in streams to Arrow batches.

offsets.py, planning.py           ranges to read, split into tasks
splitting.py, filters.py          where to cut; which part of a range a query needs
loss.py                           is everything between two positions still there?
reading.py, page_requests.py      a task fetches pages: XRANGE or FB.COLUMNS
pages.py, column_pages.py         a page of either kind, as Arrow columns
decode.py                         a page becomes a record batch
batch.py, micro_batch.py          what Spark calls to read
group.py                          a consumer group that mirrors the progress of a query
infer.py                          the schema that a stream seems to have
"""
