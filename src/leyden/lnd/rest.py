"""lnd's REST, whoever carries it: what a call says, and what an answer means.

`client.py` carries it for programs that use asyncio, `leyden.client.lnd` for those that
block; poold speaks it, too. Light to import, for the library is.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from leyden.errors import LeydenError, NodeAway, NodeRefused
from leyden.values import Struct

CALL_S: Final = 30.0  # for one call; lnd opens a wallet in longer
CONNECT_S: Final = 10.0  # of it, until there is a connection
_SHORTEST_ERROR: Final = 400
_UNKNOWN: Final = 2  # gRPC's, where no code is told
_RETRY_AFTER_S: Final = 5


class Errors(Struct, frozen=True):
    """What is raised, by whom is called.

    `away` is given why: a verb and what belongs to it. `refused` is given lnd's own
    reason, and the number of its kind (gRPC's codes).
    """

    away: Callable[[str], LeydenError]
    refused: Callable[[str, int], LeydenError]


def refused(reason: str, code: int) -> NodeRefused:
    """Return a refusal as lnd told of it."""
    return NodeRefused(reason, code=code)


def _away(why: str) -> NodeAway:
    return NodeAway(f"the node {why}", retry_after_s=_RETRY_AFTER_S)


NODE: Final = Errors(_away, refused)


def headers(macaroon: str) -> dict[str, str]:
    """Return what lets a call in: a macaroon in hex, or nothing."""
    return {"Grpc-Metadata-macaroon": macaroon} if macaroon else {}


def read(status: int, content: bytes, errors: Errors) -> dict[str, Any]:
    """Return an answer; raise what it means, if that is not what was asked for."""
    told = _read(content, errors)
    if status >= _SHORTEST_ERROR:
        raise _refusal(told, errors)
    return told


def read_line(content: bytes, errors: Errors) -> dict[str, Any]:
    """Return what one line of a stream tells."""
    told = _read(content, errors)
    if "error" in told:
        raise _refusal(told, errors)
    found: dict[str, Any] = told["result"]
    return found


def _read(content: bytes, errors: Errors) -> dict[str, Any]:
    try:
        told = json.loads(content)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise errors.away("did not return JSON")
    return told


def _refusal(told: Mapping[str, Any], errors: Errors) -> LeydenError:
    inner = told.get("error")
    if isinstance(inner, Mapping):  # as streams tell of it
        told = inner
    code = told.get("code", told.get("grpc_code", _UNKNOWN))
    return errors.refused(str(told.get("message", "")), int(code))
