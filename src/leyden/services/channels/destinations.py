"""Resolve and check the node for a direct channel, before the channel is priced."""

from typing import Final

from leyden.domain import destinations
from leyden.domain.destinations import Destination
from leyden.domain.nodes import DesiredState, Node, Status
from leyden.domain.peer_ports import host_port
from leyden.errors import Conflict, Malformed, NotFound
from leyden.services.channels import sources, zero_conf
from leyden.services.channels.shop import Shop
from leyden.values import Struct

_LONGEST_ID: Final = 100
_KEY_COMES_S: Final = 10


class Wish(Struct, frozen=True, kw_only=True):
    """The node that a customer requests a channel for."""

    node: str = ""  # KEY or KEY@HOST:PORT
    node_id: str = ""
    announce: bool = False
    zero_conf: bool = False


async def resolve(shop: Shop, organization_id: str, wish: Wish) -> Destination | None:
    """Return the node that gets the channel; None if the order is for a ticket.

    Raise Malformed with the field if no channel can go there, and Conflict while a
    hosted node's key is not known.
    """
    if not wish.node and not wish.node_id:
        _refuse_options(wish)
        return None
    field = "node" if wish.node else "node_id"
    sources.check_direct(shop, field=field)
    key, host = destinations.parse(wish.node, field="node") if wish.node else ("", "")
    hosted = None
    if wish.node_id:
        hosted = found = await _hosted(shop, organization_id, wish.node_id)
        if host:
            raise Malformed("node: with node_id, send the public key without @host")
        if found.open_peer_port:
            host = host_port(shop.dialing.peer_host, found.open_peer_port)
        key = await _key_of(shop, organization_id, found, sent=key)
    elif host:
        shop.dialing.check(host, field="node")
    await refuse_own(shop, key, field="node")
    if wish.zero_conf:
        await zero_conf.check(shop, key, hosted, announce=wish.announce)
    return Destination(
        pubkey=key,
        host=host,
        node_id=wish.node_id,
        announce=wish.announce,
        zero_conf=wish.zero_conf,
    )


def _refuse_options(wish: Wish) -> None:
    for field in ("announce", "zero_conf"):
        if getattr(wish, field):
            raise Malformed(f"{field}: needs node or node_id")


async def _hosted(shop: Shop, organization_id: str, node_id: str) -> Node:
    node = None
    if len(node_id) <= _LONGEST_ID:
        node = await shop.database.reader.nodes.find(node_id)
    if (
        node is None
        or node.organization_id != organization_id
        or node.wanted is DesiredState.DELETED
    ):
        raise NotFound
    return node


async def _key_of(shop: Shop, organization_id: str, node: Node, *, sent: str) -> str:
    """Return a hosted node's public key: from lnd's files, or as its owner sent it.

    If lnd's files can't be read from here, the owner must send the key until an order
    for the node was filled.
    """
    reader = shop.database.reader
    known = await reader.node_keys.find(node.id)
    if known and sent not in {"", known}:
        raise Malformed(
            f"node: does not match node_id, whose public key is {known}; leave node out"
        )
    key = known or sent or await reader.orders.key_of_node(organization_id, node.id)
    if not key:
        # lnd writes it down as it is unlocked, and we read it a moment later.
        comes = node.status in {Status.STARTING, Status.RUNNING}
        first = f"try again in {_KEY_COMES_S} s" if comes else "unlock its wallet"
        raise Conflict(
            f"node: we don't know this node's public key yet; {first}, or send the key "
            "from `lncli getinfo`",
            retry_after_s=_KEY_COMES_S if comes else None,
        )
    return key


async def refuse_own(shop: Shop, key: str, *, field: str) -> None:
    """Raise Malformed for the key of one of the platform's own lnds."""
    reader = shop.database.reader
    treasury, seller = await reader.treasury.find(), await reader.seller.find()
    own = {shop.rules.treasury, shop.rules.seller}
    own |= {each.pubkey for each in (treasury, seller) if each is not None}
    if key in own:
        raise Malformed(f"{field}: this node belongs to the platform itself")
