"""Data classes as the standard library makes them, in half the time.

For each class it writes, compiles and runs six functions, and there are two hundred
classes: that was a quarter of a start. Comparing, hashing and showing are the same for
all of them but for the names of the fields, and need not be written again.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, eq=True, **how):  # noqa: ANN001,ANN003,ANN201
        """Do as `dataclasses.dataclass`; what is defined in the class stays so."""

        def made(cls: type) -> type:
            if "order" in how:
                return dataclasses.dataclass(cls, eq=eq, **how)
            own = frozenset(vars(cls))
            cls = dataclasses.dataclass(cls, eq=False, repr=False, **how)
            fields = dataclasses.fields(cls)
            _add(cls, own, "__repr__", _shown([f.name for f in fields if f.repr]))
            if eq:
                compared = [f.name for f in fields if f.compare]
                _add(cls, own, "__eq__", _equal(_values(compared)))
                hashed = [
                    f for f in fields if (f.compare if f.hash is None else f.hash)
                ]
                hash_ = _hashed(_values([f.name for f in hashed]))
                _add(cls, own, "__hash__", hash_ if how.get("frozen") else None)
            return cls

        return made if cls is None else made(cls)


__all__ = ["dataclass"]


def _add(cls: type, own: frozenset[str], name: str, what: object) -> None:
    if name not in own:
        setattr(cls, name, what)


def _values(names: list[str]) -> Callable[[object], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _equal(values: Callable[[object], Any]) -> Callable[..., Any]:
    def equal(self: object, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return equal


def _hashed(values: Callable[[object], Any]) -> Callable[..., int]:
    def hashed(self: object) -> int:
        return hash(values(self))

    return hashed


def _shown(names: list[str]) -> Callable[..., str]:
    @recursive_repr()
    def shown(self: object) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"

    return shown
