"""The API as an OpenAPI document, made of the table of endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from forebay_console.web.endpoints import Endpoint
from forebay_console.web.schemas import ANY_ID, ERROR, SHARED, TEXT, YES_NO, Schema, maybe, partly

PART = re.compile(r"{(\w+)}")
REFUSALS = {
    "400": "The request cannot be understood",
    "401": "Not signed in, or the password is wrong",
    "403": "Not permitted: by the server to this user, or by a read-only console",
    "404": "Not found",
    "409": "The server refuses it",
    "429": "Too many wrong passwords",
    "502": "No server answers",
}
NAME = TEXT | {"minLength": 1, "description": "A name, percent-encoded"}
PARTS = {"stream": NAME, "group": NAME, "id": ANY_ID}
SESSION = partly(
    *("user", "server", "may_write", "trouble"),
    user=maybe(TEXT),
    token=TEXT,
    server=TEXT,
    may_write=YES_NO,
    trouble=maybe(TEXT),
)
LIVE = "Under /api/live the same address sends it as server-sent events, whenever it changes."


def description(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {"/api/session": session()}
    for one in endpoints:
        paths.setdefault(f"/api{one.path}", {})[one.method.lower()] = operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Forebay console", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": SHARED,
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "forebay_console"},
                "token": {"type": "apiKey", "in": "header", "name": "x-console-token"},
            },
        },
        "security": [{"session": []}],
    }


def session() -> dict[str, Any]:
    """The session: sign-in and sign-out."""
    asked = partly(user=TEXT, password=TEXT)
    told = {"responses": responses(SESSION), "security": []}
    return {
        "get": {"summary": "Who am I; the token for changes", **told},
        "post": {"summary": "Sign in as a user of the server", "requestBody": sent(asked), **told},
        "delete": {
            "summary": "Sign out",
            "responses": responses(partly("user", user=maybe(TEXT))),
            "security": [],
        },
    }


def operation(endpoint: Endpoint) -> dict[str, Any]:
    """One row of the table."""
    parts = [
        {"name": name, "in": "path", "required": True, "schema": PARTS[name]}
        for name in PART.findall(endpoint.path)
    ]
    words = [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in endpoint.words.items()
    ]
    told: dict[str, Any] = {
        "summary": endpoint.summary,
        "parameters": parts + words,
        "responses": responses(endpoint.answer),
    }
    if endpoint.is_live:
        told["description"] = LIVE
    if endpoint.body is not None:
        told["requestBody"] = sent(endpoint.body)
        told["security"] = [{"session": [], "token": []}]
    return told


def responses(answer: Schema) -> dict[str, Any]:
    """An answer, and all refusals."""
    refusals = {code: {"description": text, **json(ERROR)} for code, text in REFUSALS.items()}
    return {"200": {"description": "The answer", **json(answer)}, **refusals}


def sent(schema: Schema) -> dict[str, Any]:
    """A body."""
    return {"required": True, **json(schema)}


def json(schema: Schema) -> dict[str, Any]:
    """JSON of this kind."""
    return {"content": {"application/json": {"schema": schema}}}
