"""Answers and bodies as JSON Schema: for the OpenAPI page, and for its test.

    record(id=TEXT, lag=maybe(WHOLE))      an object with exactly these members
    record(...) | {"required": [...]}      some of them may be missing

A name in SHARED is written once in the document and referred to.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
YES_NO: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
ID: Schema = {"type": "string", "pattern": r"^[0-9]+-[0-9]+$"}
#: An ID in a request; the number after the dash may be left out.
ANY_ID: Schema = {"type": "string", "pattern": r"^[0-9]{1,19}(-[0-9]{1,19})?$", "maxLength": 39}
BOUND: Schema = {"type": "string", "pattern": r"^([-+]|\(?[0-9]{1,19}(-[0-9]{1,19})?)$"}

#: Where a group may be moved to.
PLACE: Schema = {
    "anyOf": [
        {"type": "string", "enum": ["start", "end", "$"]},
        ANY_ID,
        {"type": "string", "format": "date-time"},
    ]
}


def record(**members: Schema) -> Schema:
    """An object with all of these members, and no others."""
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def partly(*needed: str, **members: Schema) -> Schema:
    """An object with members; all but ``needed`` may be missing."""
    return record(**members) | {"required": list(needed)}


def maybe(schema: Schema) -> Schema:
    """Null if the value is not known."""
    return {"anyOf": [schema, NULL]}


def many(schema: Schema, **limits: int) -> Schema:
    """A list."""
    return {"type": "array", "items": schema, **limits}


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": list(words)}


def shared(name: str) -> Schema:
    """A schema that is written once."""
    return {"$ref": f"#/components/schemas/{name}"}


def counted(name: str) -> Schema:
    """The answer of an action: how many."""
    return record(**{name: COUNT})


VALUE, ENTRY, ROW = shared("Value"), shared("Entry"), shared("StreamRow")
GROUP, LETTER, ERROR = shared("Group"), shared("Letter"), shared("Error")
CURVE = many(NUMBER)
#: A name or a value in a request: text, or bytes as base64.
SENT: Schema = {"anyOf": [TEXT, record(text=TEXT), record(base64=TEXT)]}
FIELDS = many(many(SENT, minItems=2, maxItems=2), minItems=1, maxItems=1000)
IDS = many(ANY_ID, minItems=1, maxItems=1000)
#: A name that is not text is sent as base64.
NAME: Schema = {"anyOf": [TEXT, record(base64=TEXT)]}

ROW_MEMBERS: Schema = {
    "key": TEXT,
    "name": TEXT,
    "length": COUNT,
    "bytes": maybe(COUNT),
    "in_rate": maybe(NUMBER),
    "out_rate": maybe(NUMBER),
    "curve": CURVE,
    "newest_age_ms": maybe(WHOLE),
    "oldest_age_ms": maybe(WHOLE),
    "groups": maybe(COUNT),
    "pending": maybe(COUNT),
    "worst_group": maybe(TEXT),
    "lag": maybe(COUNT),
    "behind_ms": maybe(COUNT),
    "is_dead_letters": YES_NO,
}
LETTER_MEMBERS: Schema = {
    "id": ID,
    "kind": TEXT,
    "error": TEXT,
    "stream": TEXT,
    "stream_key": TEXT,
    "origin_id": TEXT,
    "group": TEXT,
    "deliveries": WHOLE,
    "last_ms": WHOLE,
}

SHARED: dict[str, Schema] = {
    "Error": record(error=TEXT),
    "Value": {"anyOf": [partly("text", text=TEXT, bytes=COUNT), record(base64=TEXT, bytes=COUNT)]},
    "Entry": record(id=ID, bytes=COUNT, fields=many(many(VALUE, minItems=2, maxItems=2))),
    "StreamRow": record(**ROW_MEMBERS),
    "Group": record(
        key=TEXT,
        name=TEXT,
        consumers=COUNT,
        pending=COUNT,
        last_id=ID,
        read=maybe(WHOLE),
        lag=maybe(COUNT),
        behind_ms=maybe(COUNT),
        out_rate=maybe(NUMBER),
        lag_curve=CURVE,
        behind_curve=CURVE,
    ),
    "Letter": record(**LETTER_MEMBERS),
}

STREAMS = record(
    total=COUNT,
    start=COUNT,
    is_whole=YES_NO,
    entries=COUNT,
    in_rate=NUMBER,
    pending=COUNT,
    streams=many(ROW),
)
STREAM = record(
    **ROW_MEMBERS,
    first_id=maybe(ID),
    newest_id=maybe(ID),
    last_id=ID,
    added=maybe(COUNT),
    group_list=many(GROUP),
)
ENTRIES = record(entries=many(ENTRY), looked=COUNT, next=maybe(BOUND))
EXPORT = record(text=TEXT, entries=COUNT, next=maybe(BOUND))
IMPORT_PREVIEW = record(
    entries=COUNT,
    first=many(record(id=maybe(ID), fields=many(many(VALUE, minItems=2, maxItems=2)))),
)
WAY = record(
    id=ID,
    is_there=YES_NO,
    groups=many(
        record(
            group=TEXT,
            key=TEXT,
            state=one_of("not_given", "pending", "released", "done", "dead"),
            consumer=maybe(TEXT),
            idle_ms=maybe(COUNT),
            deliveries=maybe(COUNT),
            letter=maybe(ID),
            letter_stream=maybe(TEXT),
            error=maybe(TEXT),
        )
    ),
    lakes=maybe(
        many(
            record(
                path=TEXT,
                at_ms=COUNT,
                by=one_of("table", "report"),
                state=one_of("archived", "not_yet", "left_out", "unknown"),
                cut=maybe(ID),
                files=many(TEXT),
                why=maybe(TEXT),
            )
        )
    ),
)
HISTOGRAM = record(start_ms=COUNT, step_ms=COUNT, bars=many(COUNT), is_exact=YES_NO)
PINS = record(
    first_id=maybe(ID),
    pins=many(
        record(
            group=TEXT,
            key=TEXT,
            why=one_of("pending", "not_given", "nothing"),
            pending=COUNT,
            lag=maybe(COUNT),
            holds_from=maybe(ID),
        )
    ),
    free_until=maybe(ID),
    costs=many(record(days=COUNT, entries=NUMBER, bytes=NUMBER)),
)
DELETE_PREVIEW = record(there=COUNT, asked=COUNT, pending=many(record(group=TEXT, pending=COUNT)))
TRIM_PREVIEW = record(
    stream=NAME,
    going=COUNT,
    first_id=maybe(ID),
    last_id=maybe(ID),
    staying=COUNT,
    pending=COUNT,
    groups=many(record(group=NAME, pending=COUNT, not_given=YES_NO)),
)
CONSUMERS = record(
    consumers=many(
        record(key=TEXT, name=TEXT, pending=COUNT, idle_ms=WHOLE, inactive_ms=maybe(WHOLE))
    ),
    total=COUNT,
)
PENDING = record(
    pending=many(record(id=ID, consumer=TEXT, idle_ms=WHOLE, deliveries=COUNT)), next=maybe(BOUND)
)
PENDING_BARS = record(
    total=COUNT,
    counted=COUNT,
    is_whole=YES_NO,
    ages_s=many(COUNT),
    by_age=many(COUNT),
    deliveries=many(COUNT),
    by_deliveries=many(COUNT),
)
RESET = record(
    **{"stream": NAME, "group": NAME, "from": ID, "to": TEXT},
    again=COUNT,
    skipped=COUNT,
    pending=COUNT,
)
GROUP_LOSS = record(group=TEXT, consumers=COUNT, pending=COUNT, lag=maybe(COUNT), last_id=ID)
PLACES = record(places=many(record(key=TEXT, name=TEXT, letters=COUNT, newest_id=maybe(ID))))
KINDS = record(
    kinds=many(record(kind=TEXT, example=TEXT, count=COUNT, newest_ms=WHOLE)),
    looked=COUNT,
    is_whole=YES_NO,
)
LETTERS = record(letters=many(LETTER), next=maybe(BOUND))
ONE_LETTER = record(
    **LETTER_MEMBERS,
    traceback=TEXT,
    consumer=TEXT,
    first_ms=WHOLE,
    fields=many(many(VALUE, minItems=2, maxItems=2)),
)
SERVER = record(
    program=maybe(TEXT),
    trouble=maybe(TEXT),
    why_unknown=maybe(TEXT),
    role=maybe(TEXT),
    uptime_s=maybe(WHOLE),
    memory_bytes=maybe(WHOLE),
    memory_limit_bytes=maybe(WHOLE),
    clients=maybe(WHOLE),
    blocked_clients=maybe(WHOLE),
    commands_a_s=maybe(WHOLE),
    durability=record(
        aof=maybe(YES_NO),
        acked=maybe(WHOLE),
        synced=maybe(WHOLE),
        unsynced_bytes=maybe(WHOLE),
        sync_age_ms=maybe(WHOLE),
        last_error=maybe(TEXT),
        write_status=maybe(TEXT),
        last_save_s=maybe(WHOLE),
        changes_since_save=maybe(WHOLE),
        replicated=maybe(WHOLE),
    ),
    replication=record(
        offset=maybe(WHOLE),
        primary=maybe(TEXT),
        link=maybe(TEXT),
        replicas=many({"type": "object", "additionalProperties": TEXT}),
    ),
    curves={"type": "object", "additionalProperties": CURVE},
)
SLOW = record(
    commands=many(record(at_s=WHOLE, took_us=WHOLE, words=many(VALUE), client=TEXT)),
)
SETTINGS = record(settings=many(record(name=TEXT, value=TEXT, default=maybe(TEXT))))
CLIENTS = record(
    clients=many({"type": "object", "additionalProperties": TEXT}),
    total=COUNT,
)
PIPELINE = partly(
    *("name", "at_ms", "ago_ms", "state", "text", "curve", "lag_curve", "lakes"),
    name=TEXT,
    at_ms=COUNT,
    ago_ms=WHOLE,
    state=TEXT,
    text=TEXT,
    curve=many(maybe(NUMBER)),
    lag_curve=many(maybe(NUMBER)),
    lakes=many(
        record(
            path=TEXT,
            at_ms=COUNT,
            **dict.fromkeys(("version", "files", "bytes", "committed_ms"), maybe(NUMBER)),
        )
    ),
    **dict.fromkeys(
        ("batch", "rows", "rows_per_s", "duration_ms", "lag_entries", "lag_s", "late_rows"),
        maybe(NUMBER),
    ),
)
PIPELINES = record(pipelines=many(PIPELINE))
