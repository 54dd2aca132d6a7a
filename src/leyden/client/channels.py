"""A node's channels, read from lnd with the owner's macaroon."""

from typing import Any

import msgspec

from leyden.client.lnd import Lnd


class Channel(msgspec.Struct, kw_only=True):
    """One channel with its capacity and its local and remote balance."""

    point: str
    peer: str
    active: bool  # false as well while it is being opened or closed
    stage: str
    capacity: int
    local: int
    remote: int
    alias: str = ""  # of the peer, if the node knows one
    uptime_percent: int | None = None  # of the peer, since lnd counts


class Channels(msgspec.Struct, kw_only=True):
    """A node's channels with total balances in satoshis."""

    can_pay: int
    can_be_paid: int
    on_chain: int
    channels: list[Channel]


_NAMED = "/v1/channels?peer_alias_lookup=true"
_PENDING = {
    "pending_open_channels": "opening",
    "waiting_close_channels": "closing",
    "pending_force_closing_channels": "force-closing",
}


def look(lnd: Lnd) -> Channels:
    """List the node's channels, including pending ones."""
    opened = [
        Channel(
            point=str(each["channel_point"]),
            peer=str(each["remote_pubkey"]),
            active=bool(each.get("active")),
            stage="open",
            capacity=_sats(each, "capacity"),
            local=_sats(each, "local_balance"),
            remote=_sats(each, "remote_balance"),
            alias=_alias(each),
            uptime_percent=_uptime(each),
        )
        for each in lnd.get(_NAMED).get("channels", ())
    ]
    pending = lnd.get("/v1/channels/pending")
    moving = [
        Channel(
            point=str(each["channel"]["channel_point"]),
            peer=str(each["channel"]["remote_node_pub"]),
            active=False,
            stage=stage,
            capacity=_sats(each["channel"], "capacity"),
            local=_sats(each["channel"], "local_balance"),
            remote=_sats(each["channel"], "remote_balance"),
        )
        for kind, stage in _PENDING.items()
        for each in pending.get(kind, ())
    ]
    return Channels(
        can_pay=sum(each.local for each in opened if each.active),
        can_be_paid=sum(each.remote for each in opened if each.active),
        on_chain=_sats(lnd.get("/v1/balance/blockchain"), "confirmed_balance"),
        channels=[*opened, *moving],
    )


def peer_address(lnd: Lnd, reached: str) -> str:
    """Return PUBLIC-KEY@HOST:PORT, which other nodes connect to."""
    return f"{lnd.get('/v1/getinfo')['identity_pubkey']}@{reached}"


def _sats(pending: dict[str, Any], name: str) -> int:
    return int(pending.get(name) or 0)


def _alias(channel: dict[str, Any]) -> str:
    """Return the alias of a peer, in whose place lnd may say why it has none."""
    alias = str(channel.get("peer_alias", ""))
    return "" if alias.startswith("unable to lookup peer alias") else alias


def _uptime(channel: dict[str, Any]) -> int | None:
    lifetime = int(channel.get("lifetime", 0))
    return 100 * int(channel.get("uptime", 0)) // lifetime if lifetime else None
