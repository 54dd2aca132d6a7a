"""What programs rely on stays: operations, parameters and fields of before."""

from pathlib import Path
from typing import Any

import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.base.http.operations import Table
from leyden.manual.openapi import document

# Each operation with its parameters, and each schema with its fields.
BEFORE = (Path(__file__).parent / "fields_before.txt").read_text().splitlines()
DOCUMENT: dict[str, Any] = document(Table(OPERATIONS), version="0")


@pytest.mark.parametrize("line", BEFORE, ids=lambda line: " ".join(line.split()[:2]))
def test_nothing_that_was_there_is_gone(line: str) -> None:
    first, *names = line.split()
    if names and names[0].startswith("/"):
        path, *names = names
        described = DOCUMENT["paths"][path][first.lower()]["parameters"]
        known = {each["name"] for each in described}
    else:
        known = {*DOCUMENT["components"]["schemas"][first]["properties"]}
    assert {*names} <= known


def test_the_headers_of_before_are_described() -> None:
    components = DOCUMENT["components"]
    assert components["securitySchemes"]["key"]["name"] == "X-SERVICE-AUTH"
    assert "Retry-After" in components["headers"]
    signed = {"webhook-id", "webhook-timestamp", "webhook-signature"}
    for name, sent in {"event": signed, "node": {*signed, "Service-Secret"}}.items():
        described = DOCUMENT["webhooks"][name]["post"]["parameters"]
        assert sent <= {each["name"] for each in described if each["in"] == "header"}
