"""Events as plain sentences, for pages, chats and emails.

They contain names and ids. Amounts, tickets and addresses are shown only to people who
have signed in. In chats and emails, names that customers chose can neither become links
nor mention people.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_NODE: Final = 'Node "{name}"'
_ORDER: Final = "{an_order}"
_CHANNEL: Final = "The channel {of_order}"
# How an order is named: by the node that gets its channel, where a page knows that.
_BY_ID: Final = {
    "an_order": "Channel order {order_id}",
    "the_order": "order {order_id}",
    "of_order": "of order {order_id}",
}
_BY_NODE: Final = {
    "an_order": 'The channel order for node "{node}"',
    "the_order": 'the channel order for node "{node}"',
    "of_order": 'for node "{node}"',
}
_SENTENCES: Final[Mapping[str, str]] = {
    "node.created": f"{_NODE} was created.",
    "node.started": f"{_NODE} was started.",
    "node.waiting_init": f"{_NODE} has no wallet yet: create one.",
    "node.waiting_unlock": f"{_NODE} is locked: unlock its wallet.",
    "node.running": f"{_NODE} is running.",
    "node.stopped": f"{_NODE} has stopped.",
    "node.failed": f"{_NODE} could not be started. We try again.",
    "node.updated": f"{_NODE} was updated to lnd {{version}}.",
    "node.deleted": f"{_NODE} was deleted. You can restore it for some days.",
    "node.restored": f"{_NODE} was restored.",
    "node.update_available": 'lnd {version} is available for node "{name}".',
    "node.out_of_order_block": f"{_NODE} got blocks out of order: restart it soon.",
    "node.settings_changed": 'Settings of node "{name}" were changed.',
    "node.certificate_expiring": (
        'The certificate of node "{name}" expires within 30 days: restart the node.'
    ),
    "backup.missing": f"{_NODE} has no channel backup.",
    "backup.stale": f"{_NODE} no longer writes channel backups.",
    "backup.drill_due": (
        'Test the backups of node "{name}" with `leyden wallet drill`.'
    ),
    "order.created": f"{_ORDER} was placed.",
    "order.paid": f"{_ORDER} is paid.",
    "order.ticket_ready": "The ticket of {the_order} is ready: register it.",
    "order.submitted": f"{_ORDER} is under way: the channel is being bought.",
    "order.filled": f"{_ORDER} is complete: the channel was bought.",
    "order.failed": f"{_ORDER} failed. The money was returned.",
    "order.expired": f"{_ORDER} expired unpaid.",
    "order.cancelled": f"{_ORDER} was cancelled.",
    "channel.lease_ending": f"{_CHANNEL}: the lease ends within a week.",
    "channel.lease_ended": f"{_CHANNEL}: the lease has ended.",
    "channel.lease_extended": f"{_CHANNEL}: the lease was extended.",
    "channel.lease_extending": (
        f"{_CHANNEL}: the lease ends within a week, and will be extended as you chose."
    ),
    "channel.lease_not_extended": (
        f"{_CHANNEL}: the lease is not extended as you chose ({{why}})."
    ),
    "channel.closed_early": f"{_CHANNEL} was closed before its lease ended.",
    "channel.fee_bumped": f"{_CHANNEL} is unconfirmed: we raised its fee to "
    "{sat_per_vbyte} sat/vB.",
    "payment.received": "A payment for {the_order} arrived.",
    "payment.returned": "A payment for {the_order} was returned.",
    "credit.changed": "Your organization's credit has changed.",
    "key.created": 'API key "{name}" was created.',
    "key.revoked": "An API key was revoked.",
    "key.expiring": 'API key "{name}" expires within 7 days.',
    "login.new_device": "A member signed in with a new browser.",
    "member.joined": "Somebody joined your organization as {role}.",
    "member.role_changed": "A member's role was changed to {role}.",
    "member.removed": "A member left your organization, or was removed.",
}


# Why a lease is not extended.
_REASONS: Final = {
    "price_above_limit": "the price is above your limit",
    "credit_missing": "your credit does not cover the price",
    "credit_limit_reached": "your corporate account has reached its limit",
    "not_possible": "its channel can't go on",
}
# Where chats and mail programs would see a URL, a domain, an @mention or a #topic.
_IN_A_LINK: Final = re.compile(r"(?<=[.:/@#])(?=\w)|(?<=:)(?=//)")
_WORD_JOINER: Final = "\u2060"  # invisible, and part of no link


class _Facts(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"


def sentence(kind: str, data: Mapping[str, Any]) -> str:
    """Return an event as one sentence, without links; an alarm has its own text."""
    inert = _IN_A_LINK.sub(_WORD_JOINER, str(data.get("name", "?")))
    return on_page(kind, {**data, "name": inert})


def on_page(kind: str, data: Mapping[str, Any], *, node: str = "") -> str:
    """Return an event as one sentence; `node` is the name of its order's node."""
    if kind in _SENTENCES and "what" not in data:
        why = _REASONS.get(str(data.get("reason")), "?")
        facts = _Facts({"name": "?", **data, "node": node, "why": why})
        order = _BY_NODE if node else _BY_ID
        named = {name: words.format_map(facts) for name, words in order.items()}
        return _SENTENCES[kind].format_map(_Facts({**facts, **named}))
    state = "Cleared" if data.get("status") == "cleared" else "Alarm"
    return f"{state}: {data.get('what') or kind}"
