"""The API as an OpenAPI document, made of the table of endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from forebay_console.web.endpoints import Endpoint

PART = re.compile(r"{(\w+)}")
REFUSALS = {
    "400": "What was asked cannot be understood",
    "401": "Nobody is signed in",
    "403": "Not permitted",
    "404": "It is not there",
    "409": "The server refuses it",
    "502": "No server answers",
}


def description(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        paths.setdefault(f"/api{one.path}", {})[one.method.lower()] = operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Forebay console", "version": "1"},
        "paths": paths,
        "components": {
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "forebay_console"},
                "token": {"type": "apiKey", "in": "header", "name": "x-console-token"},
            }
        },
        "security": [{"session": []}],
    }


def operation(endpoint: Endpoint) -> dict[str, Any]:
    """One row of the table."""
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in PART.findall(endpoint.path)
    ] + [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}
        for name in endpoint.words
    ]
    told: dict[str, Any] = {
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "The answer",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            **{code: {"description": text} for code, text in REFUSALS.items()},
        },
    }
    if endpoint.method == "POST":
        told["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
        told["security"] = [{"session": [], "token": []}]
    return told
