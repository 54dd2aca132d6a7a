"""Endpoint definitions: one line in a table each.

    Operation("GET", "/organizations/{organization_id}/nodes", nodes.list_, Scope.NODE)

The types of body and response are read from the handler's own signature, so
the table, the checks and the OpenAPI document cannot disagree.
"""

import inspect
import re
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any, Literal, get_args, get_type_hints

import msgspec
from msgspec.structs import force_setattr

from leyden.base.http.csv_responses import Sheet
from leyden.base.http.event_streams import EventStream
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Principal, Scope
from leyden.errors import Refused
from leyden.values import Struct

Method = Literal["GET", "POST", "DELETE"]
_PARAMETER = re.compile(r"{(\w+)}")


class Request(Struct, kw_only=True):
    """An authenticated call."""

    platform: Platform
    principal: Principal
    path: Mapping[str, str]
    now: datetime
    accept: bytes  # what the caller can read, in its own words
    last_event: str  # the cursor of a stream that continues; "" for none
    left: Callable[[], Awaitable[None]]  # returns once the caller has left
    confirm: Callable[[], Awaitable[object]]  # raises once the key is not live any more
    key: uuid.UUID
    """The id of whatever this request makes; the same one when it is repeated under
    one Idempotency-Key, so that making it twice makes it once."""


class Operation(Struct, frozen=True):
    """One endpoint: declared fields first, derived ones after."""

    method: Method
    path: str
    run: Callable[..., Awaitable[Any]]
    scope: Scope | None  # None: any live key will do
    refuses: tuple[type[Refused], ...] = ()
    repeatable: bool = False  # takes an Idempotency-Key
    body: type[Any] | None = None
    query: type[Any] | None = None
    body_is_optional: bool = False  # {} says all that has to be said
    answer: type[Any] = object
    as_sheet: bool = False  # can be had as CSV too
    as_events: bool = False  # can be had as server-sent events too
    name: str = ""  # for the OpenAPI document: nodes_list

    def __post_init__(self) -> None:
        hints = get_type_hints(self.run, include_extras=True)
        # What is frozen is filled in through the back door, once, here.
        force_setattr(self, "body", hints.get("body"))
        force_setattr(self, "query", hints.get("query"))
        force_setattr(self, "body_is_optional", _needs_nothing(self.body))
        answers = get_args(hints["return"]) or (hints["return"],)
        force_setattr(self, "answer", answers[0])
        force_setattr(self, "as_sheet", Sheet in answers)
        force_setattr(self, "as_events", EventStream in answers)
        module = self.run.__module__.rpartition(".")[2]
        name = f"{module}_{self.run.__name__.strip('_')}"
        force_setattr(self, "name", name)

    @property
    def description(self) -> str:
        """The operation's description: the handler's docstring."""
        return inspect.getdoc(self.run) or ""

    @property
    def parameters(self) -> list[str]:
        """The names of the path parameters."""
        return _PARAMETER.findall(self.path)


def _needs_nothing(body: type[Any] | None) -> bool:
    return body is not None and not any(
        field.required for field in msgspec.structs.fields(body)
    )


Methods = dict[str, Operation]


class Table:
    """All operations, indexed by path and method."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self.operations = tuple(operations)
        self._fixed: dict[str, Methods] = {}
        self._forms: dict[int, list[_PathPattern]] = {}  # by the number of words
        for operation in self.operations:
            if not operation.parameters:
                methods = self._fixed.setdefault(operation.path, {})
            else:
                methods = self._form_of(operation.path).methods_at(operation.path)
            methods[operation.method] = operation

    def find(self, path: str) -> tuple[Methods, dict[str, str]]:
        """Return a path's operations by method, and its path parameters."""
        if (fixed := self._fixed.get(path)) is not None:
            return fixed, {}
        words = path.split("/")
        forms = self._forms.get(len(words), ()) if "" not in words[1:] else ()
        for form in forms:
            if methods := form.find(words):
                return methods, form.read(words)
        return {}, {}

    def _form_of(self, path: str) -> "_PathPattern":
        words = path.split("/")
        indexes = {i: w[1:-1] for i, w in enumerate(words) if _PARAMETER.fullmatch(w)}
        forms = self._forms.setdefault(len(words), [])
        for form in forms:
            if form.indexes == indexes:
                return form
        forms.append(_PathPattern(indexes, len(words)))
        return forms[-1]


class _PathPattern:
    """Paths with parameters in the same positions.

    Their fixed segments distinguish them.
    """

    def __init__(self, indexes: dict[int, str], length: int) -> None:
        self.indexes = indexes
        self._fixed_words = itemgetter(
            *(index for index in range(length) if index not in indexes)
        )
        self._methods: dict[Any, Methods] = {}

    def methods_at(self, path: str) -> Methods:
        """Return the path's methods, a new empty mapping at first."""
        return self._methods.setdefault(self._fixed_words(path.split("/")), {})

    def find(self, words: list[str]) -> Methods | None:
        """Return the methods for these path segments, or None."""
        return self._methods.get(self._fixed_words(words))

    def read(self, words: list[str]) -> dict[str, str]:
        """Return the path parameters from these segments."""
        return {name: words[index] for index, name in self.indexes.items()}
