"""The events that a node sends its owner, and their signatures.

status  the node waits to be unlocked or initialized, or has just stopped
update  a newer version of lnd is available for the node
error   lnd saw Bitcoin blocks out of order and should be restarted soon

An event's body is written once, when the event is announced, and is the
same at every attempt; the timestamp that is signed with it changes.
"""

import base64
import contextlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum, auto

from leyden.errors import Malformed
from leyden.events.rules.events import Event

# The node states that are sent as webhooks.
ANNOUNCED = frozenset({"waiting_unlock", "waiting_init", "stopped"})
# The events of the log that say that a node has another status.
_STATUSES = frozenset({*(f"node.{status}" for status in ANNOUNCED), "node.restored"})
# The status in test events for nodes in another status. Receivers may act on it:
# `waiting_unlock` would make an unlocker unlock, while this one is harmless.
HARMLESS = "stopped"

# How far a receiver's clock may be from ours, the figure of Standard Webhooks.
TOLERANCE = timedelta(minutes=5)
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
# A line of lnd's log has a few hundred bytes; longer ones are cut.
_LONGEST_LOG = 1_024
# Created once: `json.dumps` creates an encoder in each call that names separators.
_write = json.JSONEncoder(separators=(",", ":")).encode


class WebhookType(StrEnum):
    """The `type` of an event's body."""

    STATUS = auto()
    UPDATE = auto()
    ERROR = auto()


def of_logged(event: Event) -> tuple[WebhookType, dict[str, str]] | None:
    """Return type and details of a logged event, as a node's webhook gets it.

    None if the contract has no such event. All details are strings, such as `'true'`.
    """
    data = event.data
    match event.type:
        case "node.update_available":
            return WebhookType.UPDATE, {
                "update_available": "true",
                "lnd_version": str(data["version"]),
                "service_version": str(data["service_version"]),
            }
        case "node.out_of_order_block":
            line = str(data["log"])[:_LONGEST_LOG]
            return WebhookType.ERROR, {"type": "out_of_order_block", "log": line}
        case _ if event.type in _STATUSES and data["status"] in ANNOUNCED:
            return WebhookType.STATUS, {"status": str(data["status"])}
    return None


def status_of_test(status: str, requested: str | None) -> str:
    """Return the status of a test: the requested one, or else the actual one.

    Receivers are written for three states, so a test sends no other: for a node
    in another state it sends `stopped`, which is harmless.
    """
    if requested is not None and requested not in ANNOUNCED:
        raise Malformed(f"status: must be one of {', '.join(sorted(ANNOUNCED))}")
    return requested or (status if status in ANNOUNCED else HARMLESS)


def body(kind: WebhookType, details: Mapping[str, str], *, api: str) -> str:
    """Return the body of an event; `api` is the address of the node."""
    return _write({"type": kind, "details": details, "api": api})


def signature_headers(
    secrets: Sequence[str], *, event_id: str, sent: datetime, body: str
) -> dict[str, str]:
    """Return the headers that prove to a receiver that the event is ours.

    `Service-Secret` is the first secret, as the contract says. The three
    headers of Standard Webhooks are signed with every secret: after a rotation
    the old secret is used for a while longer.
    """
    timestamp = str(int(sent.timestamp()))
    signed = _signed(event_id, timestamp, body.encode())
    return {
        "Service-Secret": secrets[0],
        "webhook-id": event_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(_signatures(secrets, signed)),
    }


def verify(
    secrets: Sequence[str], *, headers: Mapping[str, str], body: bytes, now: datetime
) -> bool:
    """Return whether a secret signed this body in the last 5 minutes."""
    event_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not _TIMESTAMP.fullmatch(timestamp):
        return False
    if abs(int(timestamp) - now.timestamp()) > TOLERANCE.total_seconds():
        return False
    received = _bytes(headers.get("webhook-signature", "")).split()
    # No early return: the duration must not reveal which signature matched.
    matches = [
        hmac.compare_digest(expected.encode(), signature)
        for expected in _signatures(secrets, _signed(event_id, timestamp, body))
        for signature in received
    ]
    return any(matches)


def _signed(event_id: str, timestamp: str, body: bytes) -> bytes:
    return _bytes(f"{event_id}.{timestamp}.") + body


def _bytes(header: str) -> bytes:
    """Return a header's raw bytes; servers show invalid UTF-8 as surrogates."""
    return header.encode(errors="surrogateescape")


def _signatures(secrets: Iterable[str], signed: bytes) -> Iterable[str]:
    for secret in secrets:
        for key in _keys(secret):
            digest = hmac.digest(key, signed, "sha256")
            yield f"v1,{base64.b64encode(digest).decode()}"


def _keys(secret: str) -> list[bytes]:
    """Return the HMAC keys that receivers may derive from the secret.

    The libraries of Standard Webhooks decode a secret as base64, which our hex
    happens to be; a direct call of HMAC uses its characters. Both verify, so
    that no receiver has to convert anything.
    """
    keys = [secret.encode()]
    with contextlib.suppress(ValueError):  # not every secret reads as base64
        keys.append(base64.b64decode(secret, validate=True))
    return keys
