"""The reliability goals, measured: what is promised, attacked until it would break.

    python -m reliability.run [--only R1,R5] [--full] [--seed N]    one JSON line a goal
    python -m reliability.table lines.jsonl                         the table in docs/durability.md

``goals.py`` is the list; each goal is a function that tests/reliability calls
with small numbers too, so that what is printed and what is tested is one thing.
"""
