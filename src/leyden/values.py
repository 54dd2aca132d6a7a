"""What values are made of: classes that hold what they are given, and little more.

msgspec's `Struct`, with a `replace` whose arguments mypy checks and a `repr` that
leaves secrets out. A data class is made in 0.7 ms where a Struct takes 15 µs, and there
are three hundred: a fifth of a second for each command (docs/decisions/0037).
"""

from collections.abc import Callable
from reprlib import recursive_repr
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import asdict, fields

if TYPE_CHECKING:  # mypy knows for this one that the names and types have to fit
    from dataclasses import replace  # noqa: TID251
else:
    from msgspec.structs import replace

__all__ = ["Struct", "asdict", "field", "fields", "hiding", "replace"]


def hiding(*secrets: str) -> Callable[[Struct], str]:
    """Return a `__repr__` without these fields, which must not be logged."""

    @recursive_repr()
    def shown(self: Struct) -> str:
        names = [name for name in self.__struct_fields__ if name not in secrets]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return shown
