"""What a field with a fixed set of values takes, for the error about another value."""

import re
from itertools import chain

from msgspec import inspect

_NAME = re.compile(r"[A-Za-z_]\w*")


def allowed_values(into: type, place: str) -> str:
    """Return the rule for the field at this path of a type, as in "types[0]"."""
    found = [inspect.type_info(into)]
    for name in _NAME.findall(place):
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
