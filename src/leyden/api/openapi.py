"""The OpenAPI 3.1 document, drawn from the table of operations itself."""

from collections.abc import Mapping
from typing import Any

import msgspec

from leyden.api import sheets
from leyden.api.operations import Operation, Problem, Table
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
_IN_WORDS = {
    400: "A field is wrong; the message says which and why.",
    401: "There is no live API key in X-SERVICE-AUTH.",
    402: "The account has reached its limit.",
    403: "The key lacks the scope.",
    404: "It does not exist, or is not yours.",
    409: "Not in this state; the message says why.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "Too many requests; Retry-After says when to go on.",
    503: "Something this depends on is away; Retry-After says when to go on.",
}


def document(table: Table, *, version: str) -> dict[str, Any]:
    """Describe every operation, every answer and every refusal."""
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
    schema_of = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in table.operations:
        described = _describe(operation, schema_of)
        described["parameters"] += _query_parameters(operation, schema_of, components)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Leyden",
            "version": version,
            "description": "Hosted Lightning nodes and inbound channels. HTTP/1.1.",
        },
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-SERVICE-AUTH"}
            },
        },
    }


def refusals(operation: Operation) -> dict[int, str]:
    """Give every status this operation may refuse with, in words."""
    kinds: list[type[LeydenError]] = [*_ALWAYS, *operation.refuses]
    if operation.body is not None:
        kinds += _WITH_BODY
    if operation.repeatable:
        kinds += _REPEATABLE
    return {status: _IN_WORDS[status] for status in sorted({k.status for k in kinds})}


def _describe(
    operation: Operation, schema_of: Mapping[type[Any], dict[str, Any]]
) -> dict[str, Any]:
    summary, _, rest = operation.promise.partition("\n\n")
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": summary,
        "description": rest,
        "tags": [operation.scope.value if operation.scope else "key"],
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {"type": "string"},
            }
            for name in operation.parameters
        ],
        "responses": {
            "200": {
                "description": "Done.",
                "content": _answers(operation, schema_of[operation.answer]),
            },
            **{
                str(status): {
                    "description": words,
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
            "content": _json(schema_of[operation.body]),
        }
    return described


def _query_parameters(
    operation: Operation,
    schema_of: Mapping[type[Any], dict[str, Any]],
    components: Mapping[str, Any],
) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    name = schema_of[operation.query]["$ref"].rpartition("/")[2]
    schema = components[name]
    return [
        {
            "name": field,
            "in": "query",
            "required": field in schema.get("required", ()),
            "schema": of,
        }
        for field, of in schema["properties"].items()
    ]


def _answers(operation: Operation, schema: dict[str, Any]) -> dict[str, Any]:
    if not operation.as_sheet:
        return _json(schema)
    return {**_json(schema), sheets.TYPE: {"schema": {"type": "string"}}}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
