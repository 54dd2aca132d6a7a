"""Resolve and check the node for a direct channel, before the channel is priced."""

from typing import Final

from leyden.channels import sources
from leyden.channels.direct import zero_conf
from leyden.channels.rules import destinations
from leyden.channels.rules.pricing import Channel
from leyden.channels.services import ChannelServices
from leyden.errors import Conflict, Malformed, NotFound
from leyden.nodes.rules.nodes import DesiredState, Node, NodeStatus
from leyden.nodes.rules.peer_ports import host_port
from leyden.values import replace

_LONGEST_ID: Final = 100
_KEY_COMES_S: Final = 10


async def resolve(
    channels: ChannelServices, organization_id: str, channel: Channel, *, node: str
) -> Channel:
    """Return the channel with key and address of the node that gets it.

    `node` is KEY or KEY@HOST:PORT, as the customer sent it, or empty if the channel has
    the id of a hosted node. Raise Malformed with the field if no channel can go there,
    and Conflict while a hosted node's key is not known.
    """
    field = "node" if node else "node_id"
    sources.check_direct(channels, field=field)
    key, host = destinations.parse(node, field="node") if node else ("", "")
    hosted = None
    if channel.node_id:
        hosted = found = await _hosted(channels, organization_id, channel.node_id)
        if host:
            raise Malformed("node: with node_id, send the public key without @host")
        if found.open_peer_port:
            host = host_port(channels.dialing.peer_host, found.open_peer_port)
        key = await _key_of(channels, organization_id, found, sent=key)
    elif host:
        channels.dialing.check(host, field="node")
    await refuse_own(channels, key, field="node")
    if channel.zero_conf:
        await zero_conf.check(channels, key, hosted, announce=channel.announce)
    return replace(channel, node_key=key, node_host=host)


async def _hosted(
    channels: ChannelServices, organization_id: str, node_id: str
) -> Node:
    node = None
    if len(node_id) <= _LONGEST_ID:
        node = await channels.database.reader.nodes.find(node_id)
    if (
        node is None
        or node.organization_id != organization_id
        or node.wanted is DesiredState.DELETED
    ):
        raise NotFound
    return node


async def _key_of(
    channels: ChannelServices, organization_id: str, node: Node, *, sent: str
) -> str:
    """Return a hosted node's public key: from lnd's files, or as its owner sent it.

    If lnd's files can't be read from here, the owner must send the key until an order
    for the node was filled.
    """
    reader = channels.database.reader
    known = await reader.node_keys.find(node.id)
    if known and sent not in {"", known}:
        raise Malformed(
            f"node: does not match node_id, whose public key is {known}; leave node out"
        )
    key = known or sent or await reader.orders.key_of_node(organization_id, node.id)
    if not key:
        # lnd writes it down as it is unlocked, and we read it a moment later.
        comes = node.status in {NodeStatus.STARTING, NodeStatus.RUNNING}
        first = f"try again in {_KEY_COMES_S} s" if comes else "unlock its wallet"
        raise Conflict(
            f"node: we don't know this node's public key yet; {first}, or send the key "
            "from `lncli getinfo`",
            retry_after_s=_KEY_COMES_S if comes else None,
        )
    return key


async def refuse_own(channels: ChannelServices, key: str, *, field: str) -> None:
    """Raise Malformed for the key of one of the platform's own lnds."""
    reader = channels.database.reader
    treasury, seller = await reader.treasury.find(), await reader.seller.find()
    own = {channels.rules.treasury, channels.rules.seller}
    own |= {each.pubkey for each in (treasury, seller) if each is not None}
    if key in own:
        raise Malformed(f"{field}: this node belongs to the platform itself")
