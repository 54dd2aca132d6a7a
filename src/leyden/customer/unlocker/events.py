"""Checks of an unlock event: whether it is valid, and for which node.

1. The secret in `Service-Secret` is one of ours.
2. If the event is signed, the signature is valid and less than five
   minutes old.
3. `api` is the node that the secret belongs to.
4. The status is `waiting_unlock`; other statuses are ignored.
"""

import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from leyden.customer.unlocker.nodes import UnlockedNode
from leyden.errors import Forbidden, Malformed, Unauthorized
from leyden.events.rules.webhooks import verify

_SIGNED = ("webhook-id", "webhook-timestamp", "webhook-signature")
PROOFS = ("service-secret", *_SIGNED)


class _Event(msgspec.Struct):
    type: str
    details: dict[str, msgspec.Raw]
    api: str


_decode = msgspec.json.Decoder(_Event).decode


def to_unlock(
    nodes: Sequence[UnlockedNode],
    *,
    headers: Mapping[str, str],
    body: bytes,
    now: datetime,
    must_be_signed: bool = False,
) -> UnlockedNode | None:
    """Return the node to unlock, or None for other events.

    Raise an error for an invalid event. `headers` have lowercase names.
    """
    known = _known(nodes, headers.get("service-secret", ""))
    if not known:
        raise Unauthorized
    if must_be_signed or any(name in headers for name in _SIGNED):
        secrets = [secret for node in known for secret in node.secrets]
        if not verify(secrets, headers=headers, body=body, now=now):
            raise Unauthorized("the signature is wrong or too old")
    try:
        event = _decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Malformed("not a valid event") from None
    node = next((node for node in known if node.api == event.api.lower()), None)
    if node is None:
        raise Forbidden("wrong secret for this node")
    status = bytes(event.details.get("status", b""))
    waits = event.type == "status" and status == b'"waiting_unlock"'
    return node if waits else None


def _known(nodes: Sequence[UnlockedNode], given: str) -> list[UnlockedNode]:
    """Return the nodes with this secret, compared in constant time."""
    return [node for node in nodes if _is_one_of(node.secrets, given)]


def _is_one_of(secrets: Sequence[str], given: str) -> bool:
    # What is no UTF-8 comes as surrogates, and is refused like any other guess.
    shown = given.encode(errors="surrogateescape")
    matches = [hmac.compare_digest(secret.encode(), shown) for secret in secrets]
    return any(matches)  # all were compared before
