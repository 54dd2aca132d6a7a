"""A list of words as one parameter: JSON, which both databases can take apart.

A statement is compiled once, so it cannot have a place for each of any number.
"""

from typing import Any

from sqlalchemy import Text, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ColumnElement


class _Words(ColumnElement[str]):
    """The words in a parameter."""

    inherit_cache = True
    type = Text()

    def __init__(self, parameter: str) -> None:
        self.parameter = bindparam(parameter, type_=Text)


def is_among(column: ColumnElement[Any], parameter: str) -> ColumnElement[bool]:
    """Ask whether the column is one of the words in a parameter."""
    return column.op("IN", is_comparison=True)(_Words(parameter))


@compiles(_Words, "sqlite")
def _for_sqlite(element: _Words, compiler: SQLCompiler, **how: Any) -> str:
    parameter = compiler.process(element.parameter, **how)
    return f"(SELECT value FROM json_each({parameter}))"  # noqa: S608  our own text


@compiles(_Words, "postgresql")
def _for_postgres(element: _Words, compiler: SQLCompiler, **how: Any) -> str:
    parameter = compiler.process(element.parameter, **how)
    return f"(SELECT jsonb_array_elements_text(CAST({parameter} AS jsonb)))"
