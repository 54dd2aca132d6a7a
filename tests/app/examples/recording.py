"""Calls as they were made, and as they were answered: one example of each operation.

What differs from run to run (ids, keys, certificates) is replaced by values that do
not, each by its own, so that the same id is the same wherever it stands.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.base.rules.accounts import Scope
from tests.base.api.conftest import Caller

_BY_NAME = {each.name: each for each in (*OPERATIONS, *OPERATOR_OPERATIONS)}
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_VARIES = re.compile(rf"{_UUID}|(?<=-)[0-9a-f]{{12}}(?=\.)|[0-9a-f]{{24,}}")
# An API key, what its list shows of it, and what an invitation's link has.
_SECRET = re.compile(r'(?<="leyden_)\w+|(?<=\?word=)[\w-]+')
_LONG = re.compile(r"(?:cert=)?[A-Za-z0-9+/=_-]{160,}")
_SHOWN = {True: len("cert=MII"), False: 36}  # what all certificates begin with


class Recorder:
    """Calls operations by name, and keeps what went out and came back."""

    def __init__(self, caller: Caller, operator: Caller) -> None:
        self._caller, self._operator = caller, operator
        self._kept: dict[str, dict[str, Any]] = {}

    async def call(
        self,
        name: str,
        body: object = None,
        /,
        *,
        query: Mapping[str, str | int] | None = None,
        **path: str,
    ) -> Any:
        """Call one operation, keep it as its example, and return the answer."""
        operation = _BY_NAME[name]
        given = {"organization_id": self._caller.organization_id, **path}
        path = {each: given[each] for each in operation.parameters}
        url = operation.path.format(
            **{name: quote(value, safe="") for name, value in path.items()}
        )
        sent = b"" if body is None else json.dumps(body).encode()
        if query:
            url = f"{url}?{urlencode(query)}"
        is_operators = operation.scope is Scope.OPERATOR
        caller = self._operator if is_operators else self._caller
        answer = await caller.call(operation.method, url, sent)
        assert answer.status == 200, (name, answer.body)
        stored = {
            "path": path,
            "query": dict(query or {}),
            "body": body,
            "answer": answer.json(),
        }
        self._kept[name] = {
            part: value for part, value in stored.items() if value != {}
        }
        if body is None:
            del self._kept[name]["body"]
        return answer.json()

    def text(self) -> str:
        """Return all examples as JSON, in the order of the table."""
        examples = {name: self._kept[name] for name in _BY_NAME if name in self._kept}
        answer = json.dumps(examples, indent=1, ensure_ascii=False) + "\n"
        answer = _SECRET.sub(lambda each: ("7Qm2" * 20)[: len(each[0])], answer)
        return _LONG.sub(_shortened, _VARIES.sub(_same(), answer))


def _shortened(long: re.Match[str]) -> str:
    return f"{long[0][: _SHOWN[long[0].startswith('cert=')]]}..."


def _same() -> Callable[[re.Match[str]], str]:
    """Replace each value by one that depends on nothing but its turn."""
    found: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        value = match[0]
        if value not in found:
            digest = hashlib.sha512(f"example {len(found)}".encode()).digest()
            if re.fullmatch(_UUID, value):
                found[value] = str(uuid.UUID(bytes=digest[:16], version=4))
            else:
                found[value] = (digest.hex() * 8)[: len(value)]
        return found[value]

    return replace
