"""Events in plain sentences, for people: in chats and emails.

They name things by their names and ids. Amounts, tickets and addresses stay where
people have signed in.
"""

from collections.abc import Mapping
from typing import Any, Final

_NODE: Final = 'Node "{name}"'
_ORDER: Final = "Channel order {order_id}"
_CHANNEL: Final = "The channel of order {order_id}"
_SENTENCES: Final[Mapping[str, str]] = {
    "node.created": f"{_NODE} was created.",
    "node.started": f"{_NODE} was started.",
    "node.waiting_init": f"{_NODE} has no wallet yet: create one.",
    "node.waiting_unlock": f"{_NODE} is locked: unlock its wallet.",
    "node.running": f"{_NODE} is running.",
    "node.stopped": f"{_NODE} has stopped.",
    "node.failed": f"{_NODE} could not be started. We try again.",
    "node.updated": f"{_NODE} was updated to lnd {{version}}.",
    "node.deleted": f"{_NODE} was deleted. Its data is kept for some days.",
    "node.restored": f"{_NODE} was restored.",
    "node.update_available": 'lnd {version} is available for node "{name}".',
    "node.out_of_order_block": f"{_NODE} got blocks out of order: restart it soon.",
    "node.settings_changed": 'Settings of node "{name}" were changed.',
    "node.certificate_expiring": (
        'The certificate of node "{name}" ends within 30 days: restart the node.'
    ),
    "backup.missing": f"{_NODE} has no backup of its channels.",
    "backup.stale": f"{_NODE} no longer writes backups of its channels.",
    "backup.drill_due": (
        'Try the backups of node "{name}": `leyden wallet drill` says how.'
    ),
    "order.created": f"{_ORDER} was placed.",
    "order.paid": f"{_ORDER} is paid.",
    "order.ticket_ready": "The ticket of order {order_id} is ready: register it.",
    "order.submitted": f"{_ORDER} is at the auction.",
    "order.filled": f"{_ORDER} is filled: the channel was bought.",
    "order.failed": f"{_ORDER} failed. The money went back.",
    "order.expired": f"{_ORDER} was not paid in time.",
    "order.cancelled": f"{_ORDER} was cancelled.",
    "channel.lease_ending": f"{_CHANNEL} reaches the end of its lease within a week.",
    "channel.lease_ended": f"{_CHANNEL} has reached the end of its lease.",
    "channel.closed_early": f"{_CHANNEL} was closed before its lease ended.",
    "channel.fee_bumped": f"{_CHANNEL} waits for a block: we raised its fee to "
    "{sat_per_vbyte} sat/vB.",
    "payment.received": "A payment for order {order_id} arrived.",
    "payment.returned": "A payment for order {order_id} went back.",
    "credit.changed": "Your organization's credit has changed.",
    "key.created": 'API key "{name}" was created.',
    "key.revoked": "An API key was revoked.",
    "key.expiring": 'API key "{name}" ends within 7 days.',
    "login.new_device": "A member signed in with a new browser.",
    "member.joined": "Somebody joined your organization as {role}.",
    "member.role_changed": "A member's role was changed to {role}.",
    "member.removed": "A member left your organization, or was removed.",
}


class _Facts(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"


def sentence(kind: str, data: Mapping[str, Any]) -> str:
    """Return what happened in one sentence; alarms say it themselves."""
    if kind in _SENTENCES and "what" not in data:
        return _SENTENCES[kind].format_map(_Facts(data))
    state = "Cleared" if data.get("status") == "cleared" else "Alarm"
    return f"{state}: {data.get('what') or kind}"
