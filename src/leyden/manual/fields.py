"""The fields of a request or response, as rows of a table."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from leyden.values import Struct

_ANY_LENGTH: Final = 65_536  # of every text: not worth a word
_LARGEST: Final = 10**15  # nobody needs to be told a limit beyond it
_DEEPEST: Final = 4


class Row(Struct, frozen=True):
    """A field: its path from the top, its type, and what it means."""

    name: str
    kind: str
    description: str
    required: bool
    limits: str


def rows(
    schema: Mapping[str, Any], components: Mapping[str, Any], *, prefix: str = ""
) -> Iterator[Row]:
    """List a schema's fields, those of inner objects after the outer one."""
    schema = _resolved(schema, components)
    required = schema.get("required", ())
    for name, of in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield Row(
            name=path,
            kind=_kind(of, components),
            description=of.get("description", ""),
            required=name in required,
            limits=_limits(_plain(of)),
        )
        if path.count(".") < _DEEPEST:
            inner, mark = _inner(of, components)
            yield from rows(inner, components, prefix=f"{path}{mark}.")


def _resolved(
    schema: Mapping[str, Any], components: Mapping[str, Any]
) -> Mapping[str, Any]:
    ref = schema.get("$ref")
    found: Mapping[str, Any] = components[ref.rpartition("/")[2]] if ref else schema
    return found


def _plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a field is unless it is null."""
    for each in schema.get("anyOf", ()):
        if each.get("type") != "null":
            return {**schema, **each}
    return schema


def _inner(
    schema: Mapping[str, Any], components: Mapping[str, Any]
) -> tuple[Mapping[str, Any], str]:
    """Return the schema of the objects in a field, and how their path is written."""
    schema = _resolved(_plain(schema), components)
    if "items" in schema:
        return _resolved(schema["items"], components), "[]"
    if isinstance(every := schema.get("additionalProperties"), dict):
        return _resolved(every, components), ".NAME"
    return schema, ""


def _kind(schema: Mapping[str, Any], components: Mapping[str, Any]) -> str:
    plain = _plain(schema)
    resolved = _resolved(plain, components)
    kind = str(resolved.get("type", "string"))
    if kind == "array":
        kind = f"array of {_kind(resolved['items'], components)}s"
    is_nullable = plain is not schema and {"type": "null"} in schema["anyOf"]
    return f"{kind} or null" if is_nullable else kind


def _limits(schema: Mapping[str, Any]) -> str:
    """Return a field's values or limits in words."""
    limits = []
    if "enum" in schema:
        limits.append(
            "One of " + ", ".join(f"`{each}`" for each in schema["enum"]) + "."
        )
    if (least := schema.get("minimum")) is not None and abs(least) < _LARGEST:
        limits.append(f"At least {least:,}.")
    if (maximum := schema.get("maximum")) is not None and abs(maximum) < _LARGEST:
        limits.append(f"At most {maximum:,}.")
    if schema.get("maxLength", _ANY_LENGTH) < _ANY_LENGTH:
        limits.append(f"At most {schema['maxLength']:,} characters.")
    if "default" in schema and schema["default"] not in ("", None, []):
        limits.append(f"Default: `{schema['default']}`.")
    return " ".join(limits)
