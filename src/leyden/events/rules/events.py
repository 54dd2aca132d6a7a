"""The types of events in an organization's log, with an example of each.

An event is a fact about the organization, in ids and numbers. It never contains a
ticket, a secret, the address of a receiver or the code of a coupon. It is logged under
the organization's next number, in the same transaction as the change itself.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from leyden.base.rules import accounts
from leyden.base.rules.accounts import OF_ORGANIZATIONS, Scope
from leyden.base.rules.alarms import AlarmKind
from leyden.errors import Malformed
from leyden.values import Struct

Data = Mapping[str, str | int | list[str]]

_NODE_ID: Final = "5f0c9d8e-2f4b-4b57-9a53-0d6f0e2a7c11N"
_ORDER_ID: Final = "0b7d3c52-8f0e-4a55-a1c9-6f1f3a0d9e42FO"
_KEY_ID: Final = "8d2f5d0a-6f0b-4a3c-9a41-3f7e5d1c2b60"
_USER_ID: Final = "c1a4e7f2-93b8-4d0e-8b55-2a6f7d9e0c34"
_SESSION_ID: Final = "f4b1c2d9-6e0a-47c8-9d35-7a2e8b1c0f53"
_EXPIRES: Final = "2026-03-08T12:00:00.000Z"
_NODE: Final[Data] = {"node_id": _NODE_ID, "name": "harbour light"}
_ORDER: Final[Data] = {"order_id": _ORDER_ID, "capacity": 1_000_000}


class EventType(Struct, frozen=True, kw_only=True):
    """A type of event: its meaning, an example, and the scopes to see it."""

    name: str
    about: str
    example: Data
    scopes: frozenset[Scope]  # a key needs all of them


def _node_event(name: str, about: str, **more: str | int | list[str]) -> EventType:
    example = {**_NODE, **more}
    scopes = frozenset({Scope.NODE})
    return EventType(name=f"node.{name}", about=about, example=example, scopes=scopes)


def _order_event(name: str, about: str, *, status: str) -> EventType:
    return EventType(
        name=f"order.{name}",
        about=about,
        example={**_ORDER, "status": status},
        scopes=frozenset({Scope.FLOW}),
    )


def _channel_event(name: str, about: str) -> EventType:
    data: Data = {
        "order_id": _ORDER_ID,
        "channel_point": f"{'5f' * 32}:0",
        "lease_ends_block": 852_016,
    }
    return _money_event(f"channel.{name}", about, data)


def _lease_event(name: str, about: str, **more: str | int) -> EventType:
    data: Data = {
        "order_id": _ORDER_ID,
        "channel_point": f"{'5f' * 32}:0",
        "lease_ends_block": 854_032,
        **more,
    }
    return _money_event(f"channel.{name}", about, data)


def _money_event(name: str, about: str, example: Data) -> EventType:
    scopes = frozenset({Scope.FLOW})
    return EventType(name=name, about=about, example=example, scopes=scopes)


def _team_event(name: str, about: str, example: Data) -> EventType:
    return EventType(name=name, about=about, example=example, scopes=OF_ORGANIZATIONS)


TYPES: Final[Mapping[str, EventType]] = {
    each.name: each
    for each in (
        _node_event(
            "created",
            "A node was created.",
            network="testnet",
            type="standard",
            version="v0.20.2-beta",
        ),
        _node_event("started", "lnd was started.", status="starting"),
        _node_event(
            "waiting_init", "The node has no wallet yet.", status="waiting_init"
        ),
        _node_event(
            "waiting_unlock", "The node's wallet is locked.", status="waiting_unlock"
        ),
        _node_event("running", "The node is running.", status="running"),
        _node_event(
            "stopped",
            "The node has stopped; `cause` and `reason` say why, if unexpectedly.",
            status="stopped",
            cause="out_of_memory",
            reason="lnd ran out of memory and was stopped.",
        ),
        _node_event(
            "failed",
            "The node could not be started; we try again.",
            status="failed",
            cause="not_started",
            reason="The disk of the node's machine is full.",
        ),
        _node_event(
            "updated",
            "The node was updated to another lnd version, and restarts.",
            from_version="v0.20.1-beta",
            version="v0.20.2-beta",
        ),
        _node_event(
            "deleted",
            "The node was deleted; you can restore it for some days.",
            status="deleting",
        ),
        _node_event("restored", "The deleted node was restored.", status="stopped"),
        _node_event(
            "update_available",
            "A newer version of lnd is available.",
            version="v0.20.2-beta",
            service_version="0.1.0",
        ),
        _node_event(
            "out_of_order_block",
            "lnd got blocks out of order: restart it soon.",
            log="2026-03-01 12:00:00.000 [ERR] GRPH: out of order block: "
            "expecting height=9, got height=7",
        ),
        _node_event(
            "settings_changed",
            "The node's settings were changed; has the names of the settings.",
            settings=["alias", "whitelist"],
        ),
        _node_event(
            "certificate_expiring",
            "The node's certificate expires within 30 days: restart the node.",
            expires="2026-03-31T12:00:00.000Z",
        ),
        EventType(
            name="backup.missing",
            about=(
                "The node has been running for an hour without a channel backup: lnd "
                "writes none."
            ),
            example={**_NODE, "kept": ""},
            scopes=frozenset({Scope.NODE}),
        ),
        EventType(
            name="backup.stale",
            about="lnd's channel backup is missing; the stored copy is from `kept`.",
            example={**_NODE, "kept": "2026-03-01T12:00:00.000Z"},
            scopes=frozenset({Scope.NODE}),
        ),
        EventType(
            name="backup.drill_due",
            about=(
                "You have not tested the node's backups for 90 days: run `leyden "
                "wallet drill`. `drilled` is the time of the last drill."
            ),
            example={**_NODE, "drilled": "2026-03-01T12:00:00.000Z"},
            scopes=frozenset({Scope.NODE}),
        ),
        _order_event("created", "An order was placed.", status="waiting_payment"),
        _order_event("paid", "The order is fully paid.", status="creating"),
        _order_event("ticket_ready", "The ticket was created.", status="created"),
        _order_event("submitted", "The ticket was registered.", status="submitted"),
        _order_event("filled", "The channel was bought.", status="filled"),
        _order_event(
            "failed",
            "The ticket or channel could not be created; the money was returned.",
            status="failed",
        ),
        _order_event("expired", "The order expired unpaid.", status="expired"),
        _order_event("cancelled", "The order was cancelled.", status="cancelled"),
        _channel_event(
            "lease_ending",
            "The lease of a channel that we opened to a node ends within a week.",
        ),
        _channel_event(
            "lease_ended", "The lease of a channel that we opened to a node has ended."
        ),
        _lease_event(
            "lease_extended",
            "The lease of a channel was extended; `lease_ends_block` is its new end.",
            lease_duration_blocks=2_016,
            amount=6_999,
        ),
        _lease_event(
            "lease_extending",
            "The lease of a channel ends within a week, and will be extended as you "
            "chose, for about this `amount`. You don't get `channel.lease_ending`.",
            lease_duration_blocks=2_016,
            amount=6_999,
        ),
        _lease_event(
            "lease_not_extended",
            "The lease of a channel should be extended as you chose, but is not: "
            "`reason` is `price_above_limit`, `credit_missing`, "
            "`credit_limit_reached` or `not_possible`. We try until it ends.",
            reason="credit_missing",
            amount=6_999,
        ),
        _channel_event(
            "closed_early",
            "A channel that we opened to a node was closed before its lease ended.",
        ),
        _money_event(
            "channel.fee_bumped",
            "A channel's funding transaction stayed unconfirmed; we raised its fee.",
            {
                "order_id": _ORDER_ID,
                "channel_point": f"{'5f' * 32}:0",
                "sat_per_vbyte": 48,
            },
        ),
        _money_event(
            "payment.received",
            "A payment for an order arrived; a Lightning payment is held first.",
            {"order_id": _ORDER_ID, "rail": "lightning", "amount": 16_163},
        ),
        _money_event(
            "payment.returned",
            "A payment was returned: a held payment to its payer (`handed_back`), by "
            "a chain reorganization (`reversed`), or by the operator (`refund`).",
            {"order_id": _ORDER_ID, "reason": "handed_back", "amount": 16_163},
        ),
        _money_event(
            "credit.changed",
            "Credit was added, or taken away (negative); `reason` is the `what` of "
            "the ledger.",
            {"order_id": "", "reason": "coupon", "amount": 21_000},
        ),
        _team_event(
            "key.created",
            "An API key was created.",
            {"key_id": _KEY_ID, "name": "harbour", "scopes": ["node"], "expires": ""},
        ),
        _team_event("key.revoked", "An API key was revoked.", {"key_id": _KEY_ID}),
        _team_event(
            "key.expiring",
            "An API key expires within 7 days. Not sent for keys with a shorter "
            "lifetime.",
            {"key_id": _KEY_ID, "name": "harbour", "expires": _EXPIRES},
        ),
        _team_event(
            "login.new_device",
            "A member signed in with a new browser.",
            {"user_id": _USER_ID, "session_id": _SESSION_ID},
        ),
        _team_event(
            "member.joined",
            "Somebody joined the organization.",
            {"user_id": _USER_ID, "role": "developer"},
        ),
        _team_event(
            "member.role_changed",
            "A member's role was changed.",
            {"user_id": _USER_ID, "role": "admin", "from_role": "developer"},
        ),
        _team_event(
            "member.removed",
            "A member left, or was removed.",
            {"user_id": _USER_ID, "role": "developer"},
        ),
    )
}


INSTALLATION: Final = accounts.INSTALLATION  # whose log the alarms are in
RAISED: Final = "raised"
CLEARED: Final = "cleared"
# The alarms, which are in the installation's own log.
ALARMS: Final[Mapping[str, EventType]] = {
    kind.value: EventType(
        name=kind.value,
        about=about,
        example={"status": RAISED, "what": about, "subject": ""},
        scopes=frozenset(),
    )
    for kind, about in (
        (AlarmKind.BACKUP_NONE, "No backups of a mainnet installation are made."),
        (AlarmKind.BACKUP_STALE, "The installation has no recent backup."),
        (AlarmKind.CERTIFICATE_EXPIRING, "A certificate expires within 30 days."),
        (AlarmKind.CHAIN_AWAY, "A chain backend is away, or behind its chain."),
        (AlarmKind.DISK_LOW, "A disk is nearly full."),
        (AlarmKind.EMAIL_AWAY, "The mail server rejects emails."),
        (AlarmKind.GATEWAY_AWAY, "The gateway does not respond."),
        (
            AlarmKind.INVOICE_UNKNOWN,
            "The treasury does not know an invoice of an order.",
        ),
        (AlarmKind.LEDGER_BROKEN, "The ledger breaks one of its rules."),
        (AlarmKind.MARKET_AWAY, "The auction does not respond."),
        (AlarmKind.MOVE_STUCK, "The move of a node to another runtime keeps failing."),
        (AlarmKind.NODE_CRASHING, "A node's lnd ends again and again."),
        (AlarmKind.NODE_FAILED, "Nodes could not be started."),
        (AlarmKind.NODE_UNKNOWN, "Nodes can't be observed: their machine is lost."),
        (AlarmKind.ORDER_OWED, "You owe a buyer money that only you can pay back."),
        (AlarmKind.ORDER_STUCK, "An order needs attention."),
        (AlarmKind.ORDER_UNPAID, "A channel or ticket was made that nobody paid for."),
        (
            AlarmKind.PAYMENT_REVERSED,
            "A chain reorganization removed a payment that was already spent.",
        ),
        (AlarmKind.PAYMENT_UNBOOKED, "A payment could not be booked."),
        (AlarmKind.PEER_PORTS_LOW, "Few peer ports are left for new nodes."),
        (AlarmKind.PEER_PORTS_TAKEN, "Another program has the peer port of a node."),
        (AlarmKind.POOL_EXPIRING, "The Pool account expires soon."),
        (AlarmKind.POOL_LOW, "The Pool account's balance is low."),
        (AlarmKind.PURCHASE_LOST, "Another LSP was paid, and opened no channel."),
        (
            AlarmKind.PURCHASE_UNKNOWN,
            "An order is paid, and its purchase from another LSP unknown.",
        ),
        (
            AlarmKind.PURSE_DIFFERS,
            "The purse of just-in-time channels differs from the books.",
        ),
        (
            AlarmKind.PURSE_LOST,
            "The purse paid a node, and its payer's payment is gone.",
        ),
        (
            AlarmKind.PURSE_UNPUBLISHED,
            "A node claimed its payment, and its channel can't be published.",
        ),
        (AlarmKind.QUEUE_LAGGING, "Scheduled jobs are late, or fail."),
        (AlarmKind.SELLER_AWAY, "The seller of direct channels does not respond."),
        (AlarmKind.SELLER_LOW, "The seller's wallet balance is low."),
        (
            AlarmKind.SELLER_UNREACHABLE,
            "Payers can't reach the channels that the seller sells.",
        ),
        (AlarmKind.TOR_AWAY, "Tor does not work, so onion addresses don't either."),
        (AlarmKind.TREASURY_AWAY, "The treasury does not respond."),
        (AlarmKind.TREASURY_DIFFERS, "The treasury and the ledger differ."),
        (AlarmKind.TREASURY_REPLACED, "The treasury is a different lnd than before."),
    )
}


def types_of(organization_id: str) -> Mapping[str, EventType]:
    """Return the types in an organization's log, or in the installation's."""
    return ALARMS if organization_id == INSTALLATION else TYPES


class Event(Struct, frozen=True, kw_only=True):
    """An event that has no number yet."""

    organization_id: str
    type: str
    data: Data
    once: str = ""  # a key under which it is logged only once


class StoredEvent(Struct, frozen=True, kw_only=True):
    """An event in the log."""

    number: int
    id: str
    organization_id: str
    type: str
    created: datetime
    data: msgspec.Raw


def visible(
    scopes: Collection[Scope], *, known: Mapping[str, EventType] = TYPES
) -> frozenset[str]:
    """Return the types that a key with these scopes sees."""
    return frozenset(
        name for name, each in known.items() if each.scopes.issubset(scopes)
    )


def parse_types(text: str, *, among: Collection[str]) -> frozenset[str]:
    """Parse `order.paid,node.*` into types; an empty text is all in `among`."""
    if not text:
        return frozenset(among)
    return match_types(text.split(","), among=among)


def match_types(
    words: Iterable[str],
    *,
    among: Collection[str],
    known: Collection[str] = TYPES,
    field: str = "type",
) -> frozenset[str]:
    """Return the types that match these words: a type, `order.*`, or `*`."""
    found: set[str] = set()
    for word in words:
        named = _named(word.strip(), known)
        if not named:
            groups = ", ".join(sorted({f"{each.split('.')[0]}.*" for each in known}))
            example = max(known, key=lambda each: each == "order.paid")
            raise Malformed(
                f"{field}: must be types of events, like {example}, or {groups}"
            )
        found |= named
    if not found & set(among):
        raise Malformed(f"{field}: this key lacks the scope for these types")
    return frozenset(found & set(among))


def _named(word: str, known: Collection[str]) -> set[str]:
    if word == "*":
        return set(known)
    if word.endswith(".*"):
        return {name for name in known if name.startswith(word[:-1])}
    return {word} & set(known)
