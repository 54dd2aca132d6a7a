"""Nodes: listed, and read by those whose they are."""

from collections.abc import Sequence

from leyden.domain import node_settings
from leyden.domain.nodes import Listed, Node, Stamp
from leyden.errors import NotFound
from leyden.services import outfitting
from leyden.services.fleet import Fleet
from leyden.storage.commands import Command
from leyden.values import Struct


class View(Struct, frozen=True, kw_only=True):
    """A node as its owner sees it."""

    node: Node
    settings: dict[str, object]
    history: Sequence[Command]


async def list_(fleet: Fleet, organization_id: str) -> list[Listed]:
    """Give an organization's nodes, oldest first."""
    return await fleet.database.reader.nodes.list_(organization_id)


async def stamps(fleet: Fleet, organization_id: str) -> list[Stamp]:
    """Give the stamps of an organization's nodes, oldest first."""
    return await fleet.database.reader.nodes.stamps(organization_id)


async def stamp(fleet: Fleet, organization_id: str, node_id: str) -> Stamp:
    """Give the stamp of all that `view` gives; NotFound where that refuses."""
    return await fleet.database.reader.nodes.stamp(organization_id, node_id)


async def view(fleet: Fleet, organization_id: str, node_id: str) -> View:
    """Give a node with its settings, as they are shown, and what was asked of it."""
    reader = fleet.database.reader
    node = theirs(await reader.nodes.find(node_id), organization_id)
    sealed = await reader.outfits.get(node_id)
    return View(
        node=node,
        settings=node_settings.show(
            outfitting.whole_settings(fleet, node, sealed),
            webhook_secret=outfitting.webhook_secret(fleet, sealed),
        ),
        history=await reader.commands.list_(node_id),
    )


async def get(fleet: Fleet, organization_id: str, node_id: str) -> Node:
    """Give a node of this organization; NotFound when it is not theirs, or gone."""
    found = await fleet.database.reader.nodes.find(node_id)
    return theirs(found, organization_id)


def theirs(node: Node | None, organization_id: str) -> Node:
    """Give the node if it is there and this organization's; we never say which."""
    if node is None or node.organization_id != organization_id or node.is_gone:
        raise NotFound
    return node


async def certificate(fleet: Fleet, organization_id: str, node_id: str) -> bytes:
    """Give what a client needs to trust the node: its chain, up to the root, PEM.

    Where an authority of others vouches for nodes, a start may change who does it: then
    the other's root comes along, so that a file saved before goes on to work.
    """
    node = await get(fleet, organization_id, node_id)
    reader = fleet.database.reader
    chain = (await reader.outfits.get(node_id)).certificate
    told = up_to_root(fleet, chain)
    if not fleet.rules.issued:
        return told
    if not fleet.authority.issued(chain):
        return told + fleet.authority.root_pem
    other = await reader.issued.find(node.api_endpoint)
    return told + (fleet.roots.above(other.chain) if other and other.chain else b"")


async def anchor(fleet: Fleet, node: Node) -> bytes:
    """Give the last of the node's chain, up to the root where we know it, PEM."""
    outfit = await fleet.database.reader.outfits.get(node.id)
    return up_to_root(fleet, outfit.certificate)


def up_to_root(fleet: Fleet, chain: bytes) -> bytes:
    """Give the chain with the root at its end, where we know who that is."""
    told = fleet.authority.trusted(chain)
    return told + fleet.roots.above(told)
