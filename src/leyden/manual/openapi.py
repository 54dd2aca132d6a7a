"""The OpenAPI 3.1 document, generated from the table of operations."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from leyden.base.http import csv_responses, event_streams
from leyden.base.http.operations import Operation, Table
from leyden.base.http.problems import Problem
from leyden.base.rules.accounts import Scope
from leyden.errors import (
    Away,
    Conflict,
    Forbidden,
    LeydenError,
    Malformed,
    NotFound,
    NotJson,
    Refused,
    TooLarge,
    TooMany,
    Unauthorized,
)
from leyden.manual import descriptions, unkeyed
from leyden.manual.examples import Example, examples

_ALWAYS: tuple[type[LeydenError], ...] = (
    Malformed,
    Unauthorized,
    Forbidden,
    NotFound,
    TooMany,
    Away,
)
_WITH_BODY: tuple[type[Refused], ...] = (TooLarge, NotJson)
_REPEATABLE: tuple[type[Refused], ...] = (Conflict,)
_PATH = {
    "organization_id": "Your organization's id: `GET /key` returns it.",
    "node_id": "The node's id.",
    "delivery_id": "The delivery's id.",
    "subscription_id": "The subscription's id.",
    "name": "The macaroon's name.",
    "user_id": "The person's id.",
    "key_id": "The key's id.",
    "invitation_id": "The invitation's id.",
    "order_id": "The order's id.",
}
_GUIDE = re.compile(r"\]\((?:\.\./\w+/)?([\w-]+)\.md(#[\w-]*)?\)")
_RATES = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
_OF_ERROR = ("Request-Id", "Leyden-Version", "Error-Code")
_OF_ERRORS = {
    409: (*_OF_ERROR, "Retry-After"),
    429: (*_OF_ERROR, *_RATES, "Retry-After"),
    503: (*_OF_ERROR, "Retry-After"),
}
_OPERATORS = {**_PATH, "organization_id": "The organization's id."}


def _header(kind: str, description: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": kind}}


_HEADERS = {
    "Request-Id": _header("string", "The request's id, which the log has, too."),
    "Leyden-Version": _header("string", "The version of the platform."),
    "Error-Code": _header("string", "The kind of error, as `code` in the body."),
    "Retry-After": _header("integer", "Seconds to wait before you try again."),
    "RateLimit-Limit": _header("integer", "How many requests you can send a minute."),
    "RateLimit-Remaining": _header("integer", "How many you can send at once."),
    "RateLimit-Reset": _header("integer", "Seconds until you can send all again."),
}


def _refer(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def document(
    table: Table,
    *,
    version: str,
    servers: Iterable[str] = (),
    has_unions: bool = True,
) -> dict[str, Any]:
    """Build the document with every operation, response and error.

    `servers` are the URLs of this installation; without any the document is
    relative to the URL that it is read from. With unions, an event has the shape
    of its type; without, one that stands for all.
    """
    servers = tuple(servers)
    types = {
        kind: None
        for operation in table.operations
        for kind in (operation.body, operation.query, operation.answer)
        if kind is not None
    }
    types[Problem] = None
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    for schema in components.values():
        if not _is_sent_to_us(schema):
            _promise_all_of(schema)
    _name_types(components)
    if "SettingsAnswer" in components:
        descriptions.describe_settings(components)
    if "LoggedEvent" in components:
        descriptions.describe_events(components)
        if has_unions:
            descriptions.unite_events(components)
    schema_of = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in table.operations:
        described = _describe(operation, schema_of)
        described["description"] = _absolute(described["description"], servers)
        described["parameters"] += _query_parameters(operation, schema_of, components)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    for operation in table.operations:  # they stand as parameters
        if operation.query is not None:
            components.pop(_name(schema_of[operation.query]), None)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Leyden",
            "version": version,
            "description": descriptions.ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "externalDocs": {"description": "Guides and reference", "url": "/docs"},
        "servers": [{"url": url} for url in servers] or [{"url": "/"}],
        "tags": [
            {"name": each.name, "description": each.description}
            for each in descriptions.tags(
                operators=any(each.scope is Scope.OPERATOR for each in table.operations)
            )
        ]
        + list(unkeyed.TAGS),
        "security": [{"key": []}, {"bearer": []}],
        "paths": paths | unkeyed.paths(),
        "webhooks": unkeyed.webhooks(),
        "components": {
            "schemas": components,
            "headers": _HEADERS,
            "securitySchemes": {
                "key": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-SERVICE-AUTH",
                    "description": "An API key of your organization.",
                },
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The same key, as a Bearer token.",
                },
            },
        },
    }


def _absolute(text: str, servers: tuple[str, ...]) -> str:
    """Return Markdown whose links to other guides lead to where they are served."""
    origin = servers[0] if servers else ""
    text = _GUIDE.sub(rf"]({origin}/docs/\1\2)", text)
    return re.sub(r"\]\((#[\w-]*)\)", rf"]({origin}/docs/api\1)", text)


def _is_sent_to_us(schema: Mapping[str, Any]) -> bool:
    """Return whether a shape is a request body: these refuse unknown fields."""
    return schema.get("additionalProperties") is False


def _promise_all_of(schema: dict[str, Any]) -> None:
    """Promise the fields of an answer: defaults are for clients of older platforms.

    A field that has no default and is not required is left out of some answers.
    """
    schema["required"] = [
        name
        for name, each in schema["properties"].items()
        if name in schema["required"] or each.pop("default", UNSET) is not UNSET
    ]


def _name_types(schema: object) -> None:
    """Name the type of values, which generators want beside an enum."""
    for each in schema.values() if isinstance(schema, dict) else ():
        _name_types(each)
    if isinstance(schema, dict) and isinstance(schema.get("enum"), list):
        schema.setdefault("type", "string")


def refusals(operation: Operation) -> dict[int, str]:
    """Return the error statuses of an operation with descriptions."""
    kinds: list[type[LeydenError]] = [*_ALWAYS, *operation.refuses]
    if operation.body is not None:
        kinds += _WITH_BODY
    if operation.repeatable:
        kinds += _REPEATABLE
    return {kind.status: kind.words for kind in sorted(kinds, key=lambda k: k.status)}


def _describe(
    operation: Operation, schema_of: Mapping[type[Any], dict[str, Any]]
) -> dict[str, Any]:
    example = examples().get(operation.name, Example(answer=UNSET))
    names = _OPERATORS if operation.scope is Scope.OPERATOR else _PATH
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": descriptions.summary(operation),
        "description": descriptions.details(operation),
        "tags": [descriptions.tag(operation).name],
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": names[name],
                "schema": {"type": "string"},
                **_example(example.path.get(name, UNSET)),
            }
            for name in operation.parameters
        ],
        "responses": {
            "200": {
                "description": "Success.",
                "headers": _refer("Request-Id", "Leyden-Version", *_RATES),
                "content": _answers(
                    operation, schema_of[operation.answer], example.answer
                ),
            },
            **{
                str(status): {
                    "description": words,
                    "headers": _refer(*_OF_ERRORS.get(status, _OF_ERROR)),
                    "content": _json(schema_of[Problem]),
                }
                for status, words in refusals(operation).items()
            },
        },
    }
    if operation.repeatable:
        described["parameters"].append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "The same key and body give the same answer for a day.",
                "schema": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 255,
                    "pattern": "^[!-~]+$",
                },
            }
        )
    if operation.body is not None:
        described["requestBody"] = {
            "required": not operation.body_is_optional,
            "content": _json(schema_of[operation.body], example.body),
        }
    return described


def _query_parameters(
    operation: Operation,
    schema_of: Mapping[type[Any], dict[str, Any]],
    components: Mapping[str, Any],
) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = components[_name(schema_of[operation.query])]
    return [
        {
            "name": field,
            "in": "query",
            "required": field in schema.get("required", ()),
            "description": of.get("description", ""),
            "schema": {key: what for key, what in of.items() if key != "description"},
        }
        for field, of in schema["properties"].items()
    ]


def _name(reference: Mapping[str, Any]) -> str:
    """Return the name of the component that is referred to."""
    return str(reference["$ref"]).rpartition("/")[2]


def _answers(
    operation: Operation, schema: dict[str, Any], example: object
) -> dict[str, Any]:
    found = _json(schema, example)
    if operation.as_sheet:
        found[csv_responses.TYPE] = {"schema": {"type": "string"}}
    if operation.as_events:
        found[event_streams.TYPE] = {"schema": {"type": "string"}}
    return found


def _json(schema: dict[str, Any], example: object = UNSET) -> dict[str, Any]:
    return {"application/json": {"schema": schema, **_example(example)}}


def _example(value: object) -> dict[str, Any]:
    return {} if value is UNSET else {"example": value}
