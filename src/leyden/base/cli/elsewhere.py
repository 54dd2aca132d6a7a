"""Operators' commands on another machine than the platform's, over the operator API.

They are called with LEYDEN_URL and LEYDEN_OPERATOR_KEY in the environment.
"""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from leyden.base.cli import exit_codes
from leyden.base.cli.output import print_list, print_one
from leyden.client import ApiError
from leyden.client.operator import Operator
from leyden.errors import Conflict, Malformed, NotFound, SetupError

_KEY: Final = "LEYDEN_OPERATOR_KEY"
_Command = TypeVar("_Command", bound=Callable[..., Any])


def elsewhere(
    call: Callable[..., Any], *, listed: str = ""
) -> Callable[[_Command], _Command]:
    """Return a decorator: with an operator key, a command makes this call instead.

    The call gets the operator API and the command's options. What it returns is
    printed: a list under the name `listed`.
    """

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def run(*, as_json: bool, **options: Any) -> None:
            if not (key := _key()):
                command(as_json=as_json, **options)
                return
            with _operator(key) as api:
                found = msgspec.to_builtins(call(api, **options))
            if not listed:
                print_one(found, as_json=as_json)
            else:
                print_list(listed, found, as_json=as_json, empty="none")

        return run  # type: ignore[return-value]

    return decorate


def organization_id(api: Operator, word: str | None) -> str:
    """Return the id of the organization with this id or name, or of the only one."""
    found = api.organizations()
    if word is None and len(found) != 1:
        raise Malformed("--organization: name one; see `leyden orgs list`")
    meant = [each for each in found if word in {None, each.organization_id, each.name}]
    if not meant:
        raise NotFound(f"no organization {word!r}; see `leyden orgs list`")
    if len(meant) > 1:
        raise Conflict(f"{word!r} is the name of several organizations: use the id")
    return meant[0].organization_id


def _key() -> str:
    file = os.environ.get(f"{_KEY}_FILE", "")
    try:
        return os.environ.get(_KEY) or (Path(file).read_text().strip() if file else "")
    except OSError as error:
        raise SetupError(f"{_KEY}_FILE: {file}: {error.strerror}") from None


@contextmanager
def _operator(key: str) -> Iterator[Operator]:
    url, file = os.environ.get("LEYDEN_URL", ""), os.environ.get("LEYDEN_CA", "")
    if not url:
        raise SetupError(f"LEYDEN_URL is not set, which {_KEY} is for")
    try:
        authority = Path(file).read_text() if file else ""
        api = Operator(url, key, authority=authority)
    except (OSError, ValueError) as error:
        raise SetupError(f"LEYDEN_URL, LEYDEN_CA: {error}") from None
    with api:
        try:
            yield api
        except ApiError as error:
            known = {401: f"{url} rejected this operator key"}
            message = known.get(error.status, error.message)
            raise exit_codes.Refusal(message, status=error.status) from None
