"""Request bodies: strict JSON parsing before any handler runs.

msgspec checks types strictly but takes a duplicate key's last value. The
standard library's parser reports each pair, number and constant, and costs
4 µs.
"""

import json
import re
from collections.abc import Callable
from itertools import chain
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import inspect

from leyden.errors import Malformed

Body = TypeVar("Body")

_TOO_DEEP = "the body is nested too deeply"
_LONGEST_NUMBER = 19  # digits of the largest 64-bit integer
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]{1,40}")
_LONGEST_PATH = 81  # one more than is ever told
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.\[\]]{1,80}")
_AT = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_FRACTION = re.compile(r"-?[0-9]+(\.[0-9]*(e[+-]?[0-9]+)?|e[+-]?[0-9]+)", re.IGNORECASE)
_NO_INTEGER = {
    "Expected `int`, got `_Fraction`": (
        "must be a whole number, without a decimal point or an exponent"
    ),
    "Expected `int`, got `_Huge`": "is too large",
}
_MISSING_FIELD = re.compile(r"Object missing required field `(.*)`")
_KIND = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_BOUND = re.compile(r"Expected `(\w+)`( of length)? (<=|>=) (\d+)")
_PATTERN = re.compile(r"Expected `str` matching regex '(.*)'")
# Types as JSON calls them, which has no names of Python's.
_JSON_TYPES = {
    "int": "an integer",
    "float": "a number",
    "_Fraction": "a number",
    "_Huge": "a number",
    "str": "a string",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
}
_COUNTED = {"str": " characters", "array": " entries", "object": " fields"}
_NAME = re.compile(r"[A-Za-z_]\w*")


def parse(raw: bytes, into: type[Body]) -> Body:
    """Parse a body into its type; name the invalid field and the reason.

    Error messages never repeat what was sent: it might be a secret.
    """
    return convert(parse_json(raw), into)


def convert(value: object, into: type[Body]) -> Body:
    """Convert a parsed value to the given type."""
    return _converted(value, into, strict=True)


def convert_query(query: dict[str, str], into: type[Body]) -> Body:
    """Convert query parameters; "1" is an integer, "1e2" is not."""
    return _converted(
        {
            name: _Fraction() if _FRACTION.fullmatch(text) else text
            for name, text in query.items()
        },
        into,
        strict=False,
    )


def _converted(value: object, into: type[Body], *, strict: bool) -> Body:
    try:
        return msgspec.convert(value, into, strict=strict)
    except msgspec.ValidationError as error:
        raise Malformed(_rephrase(str(error), into, is_query=not strict)) from None


def parse_json(raw: bytes) -> object:
    """Parse JSON; reject anything two parsers might read differently."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise Malformed("the body is not valid UTF-8") from None
    try:
        decoder = _WITH_LONG_NUMBERS if _LONG_NUMBER.search(text) else _DECODER
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Malformed(f"the body is not valid JSON: {where}") from None
    except RecursionError:
        raise Malformed(_TOO_DEEP) from None
    if "\\u" in text:
        try:
            _refuse_unstorable(value)
        except RecursionError:
            raise Malformed(_TOO_DEEP) from None
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Malformed("the body has an object with duplicate keys")
    return value


class _Fraction:
    """Placeholder for a number with a decimal point or an exponent.

    No field has this type, so the error names the field.
    """

    def __init__(self, _digits: str = "") -> None:
        pass


class _Huge:
    """Placeholder for an integer that is too long to parse."""


def _integer(digits: str) -> "int | _Huge":
    return int(digits) if len(digits.lstrip("-")) <= _LONGEST_NUMBER else _Huge()


def _constant(_: str) -> NoReturn:
    raise Malformed("the body is not valid JSON: NaN and Infinity are not numbers")


_LONG_NUMBER = re.compile(f"[0-9]{{{_LONGEST_NUMBER + 1}}}")


def _decoder(parse_int: Callable[[str], Any] | None = None) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_once_each,
        parse_int=parse_int,
        parse_float=_Fraction,
        parse_constant=_constant,
    )


_DECODER = _decoder()
# A hook for integers takes four times as long, holding Python's lock.
_WITH_LONG_NUMBERS = _decoder(_integer)


def _refuse_unstorable(value: object, path: str = "") -> None:
    """Reject text with NUL characters or unpaired surrogates.

    No database stores NUL, and UTF-8 cannot encode half a surrogate pair.
    """
    match value:
        case str():
            if "\0" in value:
                raise Malformed(f"{_prefix(path)}text must not contain NUL characters")
            if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
                problem = "text must not contain an unpaired surrogate"
                raise Malformed(f"{_prefix(path)}{problem}")
        case dict():
            for key, each in value.items():
                _refuse_unstorable(key, path)
                _refuse_unstorable(each, _field_path(path, key))
        case list():
            for each in value:
                _refuse_unstorable(each, path)


def _field_path(path: str, key: str) -> str:
    """Return the path of a nested field, cut to the longest we report.

    Cutting at each level keeps deeply nested keys from piling up.
    """
    return f"{path}.{key}"[:_LONGEST_PATH] if path else key[:_LONGEST_PATH]


def _prefix(path: str) -> str:
    return f"{path}: " if _PLAIN_PATH.fullmatch(path) else ""


def _rephrase(error: str, into: type, *, is_query: bool) -> str:
    """Convert a msgspec error to our wording, without repeating values."""
    match = _AT.fullmatch(error)
    problem, path = match.groups() if match else (error, None)
    path = re.sub(r"\[(?:\.\.\.)?\]", "", path or "")
    whole, what = ("query", "parameter") if is_query else ("body", "field")
    if unknown := _UNKNOWN_FIELD.fullmatch(problem):
        if not _PLAIN_NAME.fullmatch(unknown[1]):
            return f"{_prefix(path) or f'the {whole} '}has an unknown {what}"
        return f"{_prefix(_field_path(path, unknown[1]))}is not a known {what}"
    if missing := _MISSING_FIELD.fullmatch(problem):
        return f"{_prefix(_field_path(path, missing[1]))}is required"
    if problem.startswith("Invalid enum value"):
        return f"{_prefix(path)}{_allowed_values(into, path)}"
    return f"{_prefix(path) or f'the {whole} '}{_reason(problem, is_query=is_query)}"


def _reason(problem: str, *, is_query: bool) -> str:
    if problem in _NO_INTEGER:
        return _NO_INTEGER[problem]
    if kinds := _KIND.fullmatch(problem):
        expected, got = (
            " or ".join(_JSON_TYPES.get(each, each) for each in kind.split(" | "))
            for kind in kinds.groups()
        )
        return f"must be {expected}" + ("" if is_query else f", not {got}")
    if bound := _BOUND.fullmatch(problem):
        most = "at most" if bound[3] == "<=" else "at least"
        counted = _COUNTED.get(bound[1], " bytes") if bound[2] else ""
        return f"must {'have' if counted else 'be'} {most} {int(bound[4]):,}{counted}"
    if "datetime" in problem:
        return "must be a time with a zone, like 2026-01-31T12:00:00Z"
    if pattern := _PATTERN.fullmatch(problem):
        return f"must match {pattern[1]}"
    return f"is not valid: {problem[:1].lower()}{problem[1:]}".replace("`", "")


def _allowed_values(into: type, path: str) -> str:
    """Return the rule for the field at this path of a type, as in "types[0]"."""
    found = [inspect.type_info(into)]
    for name in _NAME.findall(path):
        found = [each for one in found for each in _fields(one, name)]
    values = [f'"{each}"' for each in chain.from_iterable(map(_values, found))]
    return f"must be {' or '.join(values)}" if values else "is not an allowed value"


def _fields(kind: inspect.Type, name: str) -> list[inspect.Type]:
    return [
        field.type
        for each in _parts(kind)
        if isinstance(each, inspect.StructType)
        for field in each.fields
        if field.encode_name == name
    ]


def _values(kind: inspect.Type) -> list[object]:
    found: list[object] = []
    for each in _parts(kind):
        if isinstance(each, inspect.EnumType):
            found += [member.value for member in each.cls]
        elif isinstance(each, inspect.LiteralType):
            found += each.values
    return found


def _parts(kind: inspect.Type) -> list[inspect.Type]:
    """Return the types that a value may have, and those of an array's items."""
    match kind:
        case inspect.UnionType():
            return [part for each in kind.types for part in _parts(each)]
        case inspect.ListType() | inspect.VarTupleType():
            return _parts(kind.item_type)
        case inspect.Metadata():
            return _parts(kind.type)
        case _:
            return [kind]
