"""One tree of errors: as it is drawn, and as callers, documents and commands see it."""

import re

import pytest

from leyden import errors
from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.base.cli import exit_codes
from leyden.base.http.operations import Operation
from leyden.manual.openapi import refusals

OURS = [each for each in errors.every() if each.__module__ == errors.__name__]


def drawn() -> dict[str, tuple[str, str]]:
    """Each error of the drawing, with what it is a kind of and its own status."""
    found = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"^([│├└─ ]*)([A-Z]\w+)(?: +(\d{3})\b| {2}|$)", line):
            depth = len(match[1]) // 4
            above[depth:] = [match[2]]
            parent = above[depth - 1] if depth else "Exception"
            found[match[2]] = (parent, match[3] or "")
    return found


def test_every_error_is_drawn_where_it_belongs() -> None:
    made = {
        each.__name__: (each.__bases__[0].__name__, str(vars(each).get("status", "")))
        for each in OURS
    }
    differ = {
        name: {"class": made.get(name), "drawn": drawn().get(name)}
        for name in made.keys() | drawn().keys()
        if made.get(name) != drawn().get(name)
    }
    assert not differ, f"correct the tree in the docstring of errors.py: {differ}"


@pytest.mark.parametrize("each", OURS, ids=lambda each: each.__name__)
def test_every_error_has_a_message_and_a_code_that_is_explained(
    each: type[errors.LeydenError],
) -> None:
    assert each.__doc__
    assert each.exit_code in exit_codes.CODES


@pytest.mark.parametrize(
    "operation", [*OPERATIONS, *OPERATOR_OPERATIONS], ids=lambda each: each.name
)
def test_every_refusal_that_is_announced_is_explained(operation: Operation) -> None:
    announced = refusals(operation)
    assert all(announced.values())
    assert list(announced) == sorted(announced)
