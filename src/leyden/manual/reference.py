"""The API reference: every operation with its fields, examples and errors."""

import json
from collections.abc import Mapping
from typing import Any

from leyden.base import guides
from leyden.base.http.operations import Operation, Table
from leyden.manual import descriptions, requests
from leyden.manual.examples import examples
from leyden.manual.fields import Row, rows
from leyden.manual.markdown import render, slug
from leyden.manual.openapi import document, refusals
from leyden.manual.table import REFERENCE
from leyden.values import Struct

# The chapters of docs/customers/api.md that are about all operations; others list some.
CHAPTERS = (
    "Idempotency-Key",
    "Limits",
    "Lists",
    "Compatibility",
    "Node statuses",
    "Order statuses",
)


class Parameter(Struct, frozen=True):
    """Something that is filled in to try an operation."""

    name: str
    location: str
    description: str
    required: bool
    value: str


class ShownOperation(Struct, frozen=True, kw_only=True):
    """One operation, ready for the template."""

    name: str
    method: str
    path: str
    summary: str
    details: str  # HTML
    scope: str
    parameters: list[Parameter]
    body: list[Row]
    answer: list[Row]
    curl: str
    python: str
    javascript: str
    sent: str | None  # the example's body
    answered: str
    errors: dict[int, str]


class OperationGroup(Struct, frozen=True):
    """The operations of one tag."""

    name: str
    id: str
    description: str
    operations: list[ShownOperation]


def introduction() -> str:
    """Return the list at the beginning of docs/customers/api.md, as HTML."""
    before = guides.read(REFERENCE).partition("\n## ")[0]
    return render(before[before.index("\n- ") :], page=REFERENCE)


def chapters() -> dict[str, str]:
    """Return the chapters about all operations, as HTML by their titles."""
    found = guides.chapters(guides.read(REFERENCE), level=2)
    return {title: render(found[title], page=REFERENCE) for title in CHAPTERS}


def groups(table: Table, *, version: str) -> list[OperationGroup]:
    """Return all operations, by their tags."""
    described = document(table, version=version, has_unions=False)
    shown: dict[str, list[ShownOperation]] = {
        each.name: [] for each in descriptions.tags()
    }
    for operation in table.operations:
        of = described["paths"][operation.path][operation.method.lower()]
        one = _shown(operation, of, described["components"]["schemas"])
        shown[descriptions.tag(operation).name].append(one)
    return [
        OperationGroup(each.name, slug(each.name), each.description, shown[each.name])
        for each in descriptions.tags()
    ]


def _shown(
    operation: Operation, of: Mapping[str, Any], components: Mapping[str, Any]
) -> ShownOperation:
    example = examples()[operation.name]
    body = of.get("requestBody", {}).get("content", {}).get("application/json")
    answer = of["responses"]["200"]["content"]["application/json"]
    return ShownOperation(
        name=operation.name,
        method=operation.method,
        path=operation.path,
        summary=of["summary"],
        details=render(of["description"], page=REFERENCE),
        scope=operation.scope.value if operation.scope else "",
        parameters=[
            Parameter(
                name=each["name"],
                location=each["in"],
                description=each.get("description", ""),
                required=each["required"],
                value=str(example.query.get(each["name"], "")),
            )
            for each in of["parameters"]
        ],
        body=list(rows(body["schema"], components)) if body else [],
        answer=list(rows(answer["schema"], components)),
        curl=requests.curl(operation, example),
        python=requests.python(operation, example),
        javascript=requests.javascript(operation, example),
        sent=_json(body.get("example", {})) if body else None,
        answered=_json(example.answer),
        errors=refusals(operation),
    )


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
