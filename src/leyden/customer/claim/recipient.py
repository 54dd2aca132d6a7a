"""The node that a ticket is claimed for, and how poold reaches it."""

from pathlib import Path
from typing import Final

from leyden.base.files import write_private
from leyden.base.settings import private_chain
from leyden.customer.claim.bridge import GrpcNode
from leyden.customer.claim.state import TicketClaim
from leyden.customer.session import ApiSession, home_here
from leyden.customer.wallet.reaching import open_node
from leyden.errors import Conflict, Malformed, SetupError
from leyden.schemas.nodes import NodeAnswer, NodeItem
from leyden.values import Struct

# Whose auctioneer poold knows by itself.
_PUBLIC: Final = ("mainnet", "testnet")
_PRIVATE: Final = ("regtest", "simnet")


class NodeMarket(Struct, frozen=True, kw_only=True):
    """A node's chain, and who matches orders there."""

    chain: str
    auctioneer: str  # host:port; "": poold knows that of a public chain


def choose(session: ApiSession, named: str, claim: TicketClaim | None) -> NodeAnswer:
    """Return the node: the one named, that of the claim so far, or the only one."""
    client = session.client
    if claim is not None:
        node = client.nodes.get(claim.node_id)
        if named not in {"", node.node_id, node.node_name}:
            raise Conflict(
                f"--for: this order is already being claimed for {node.node_name!r}"
            )
    elif named:
        node = client.nodes.get(session.node(named).node_id)
    else:
        found = client.nodes.list_()
        if len(found) != 1:
            names = ", ".join(repr(each.node_name) for each in found)
            raise Malformed(
                f"--for: name the node that gets the channel: {names}"
                if found
                else "you have no node yet: leyden nodes create --help"
            )
        node = client.nodes.get(found[0].node_id)
    _refuse_unready(node)
    return node


def _refuse_unready(node: NodeAnswer) -> None:
    name = repr(node.node_name)
    if not node.settings.grpc:
        raise Conflict(
            f"{name} does not serve gRPC, which poold needs: leyden nodes settings "
            f"{name} --grpc"
        )
    how = {
        "running": "",
        "waiting_init": f"leyden wallet init {name}",
        "waiting_unlock": f"leyden wallet unlock {name}",
        "stopped": f"leyden nodes start {name}",
    }.get(node.status, f"see leyden nodes show {name}")
    if how:
        raise Conflict(f"{name} is {node.status}, and must be running: {how}")


def market_of(session: ApiSession, node: NodeItem, admin: str) -> NodeMarket:
    """Return what the node itself says of its chain; this tests the macaroon too."""
    with open_node(session, node, macaroon=admin) as lnd:
        chain = str(lnd.get("/v1/getinfo")["chains"][0]["network"])
    if chain in _PUBLIC:
        return NodeMarket(chain=chain, auctioneer="")
    if chain not in _PRIVATE:
        raise SetupError(
            f"{node.node_name!r} is on {chain}, which has no Pool auction: cancel the "
            "order, and order a direct channel with `leyden channels order --for`"
        )
    private = private_chain.find(home_here())
    if private is None:
        raise SetupError(
            f"this node is on a private chain ({chain}): run the command on the "
            "machine of that chain, with LEYDEN_HOME"
        )
    if not private.auctioneer:
        raise SetupError(
            "this private chain has no market: set devnet_market to true, and start "
            "the platform again"
        )
    return NodeMarket(chain=private.chain, auctioneer=private.auctioneer)


def reached(session: ApiSession, node: NodeItem, folder: Path) -> GrpcNode:
    """Return where this machine reaches the node's gRPC; keep whom to trust there."""
    host, port = session.client.grpc_address(node.node_id)
    trusted = session.profile.authority or session.client.nodes.certificate(
        node.node_id
    )
    authority = folder / "authority.pem"
    write_private(authority, trusted, lasting=False)
    return GrpcNode(host=host, port=port, name=node.api_endpoint, authority=authority)
