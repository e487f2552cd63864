"""Requests that nobody would send on purpose, and what must come of them: a reply, and no harm.

words.py       lines from the command table: every row, its own words, words that do not belong
mutations.py   good requests with bytes wrong; the kept corpus (corpus/*.txt)
replies.py     what any output must be: whole replies, and no line with a line end inside
target.py      a whole server in this process, without a socket: who gets the requests
program.py     ``python -m reliability.fuzz.program``: so many requests, one JSON line; it also
               runs on the build with sanitizers (reliability/sanitized.py)
"""
