"""`leyden wallet peers`, `connect` and `disconnect`: whom a node is connected to."""

from typing import Final

import click

from leyden.base.cli.output import print_done, print_json, print_rows
from leyden.client import Lnd
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession
from leyden.customer.wallet.reaching import OwnerKeys, money_options, open_for
from leyden.errors import Malformed, NodeRefused

CONNECT: Final = "lnrpc.Lightning/ConnectPeer"
_LIST: Final = "lnrpc.Lightning/ListPeers"
_DISCONNECT: Final = "lnrpc.Lightning/DisconnectPeer"
_KEY: Final = 33  # bytes
_PEER_S: Final = 15


def key_and_host(peer: str) -> tuple[str, str]:
    """Return the parts of PUBLIC-KEY@HOST:PORT; the host may be missing."""
    key, _, host = peer.partition("@")
    try:
        binary = bytes.fromhex(key)
    except ValueError:
        binary = b""
    if len(binary) != _KEY:
        raise Malformed("PEER: must be PUBLIC-KEY@HOST:PORT; a key has 66 digits")
    return key.lower(), host


def reach(lnd: Lnd, key: str, host: str) -> None:
    """Connect to a peer, if the node is not connected to it."""
    wish = {"addr": {"pubkey": key, "host": host}, "timeout": str(_PEER_S)}
    try:
        lnd.post("/v1/peers", wish)
    except NodeRefused as refused:
        if "already connected" not in refused.message:
            raise


@click.command()
@node_argument
@money_options
def peers(
    session: ApiSession,
    node: str,
    *,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """List the nodes that this one is connected to.

    \b
    leyden wallet peers pier
    """
    found = session.node(node)
    with open_for(session, found, keys, (_LIST,)) as lnd:
        rows = [
            {
                "peer": each["pub_key"],
                "address": each["address"],
                "inbound": bool(each.get("inbound")),
                "ping_ms": int(each.get("ping_time", 0)) // 1_000,
            }
            for each in lnd.get("/v1/peers").get("peers", ())
        ]
    if as_json:
        print_json({"node_id": found.node_id, "peers": rows})
    else:
        print_rows(rows, empty="not connected to any peer", spare=("ping_ms",))


@click.command()
@node_argument
@click.argument("peer")
@money_options
def connect(
    session: ApiSession,
    node: str,
    peer: str,
    *,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """Connect to PEER (PUBLIC-KEY@HOST:PORT).

    \b
    leyden wallet connect pier 0279be667ef9...@node.example.org:9735
    """
    key, host = key_and_host(peer)
    if not host:
        raise Malformed("PEER: must be PUBLIC-KEY@HOST:PORT")
    found = session.node(node)
    with open_for(session, found, keys, (CONNECT,)) as lnd:
        reach(lnd, key, host)
    done = {"node_id": found.node_id, "peer": key, "connected": True}
    print_done(done, "connected", as_json=as_json)


@click.command()
@node_argument
@click.argument("peer")
@money_options
def disconnect(
    session: ApiSession,
    node: str,
    peer: str,
    *,
    keys: OwnerKeys,
    as_json: bool,
) -> None:
    """Disconnect PEER (its public key), with which there is no channel.

    \b
    leyden wallet disconnect pier 0279be667ef9...
    """
    key, _ = key_and_host(peer)
    found = session.node(node)
    with open_for(session, found, keys, (_DISCONNECT,)) as lnd:
        lnd.delete(f"/v1/peers/{key}")
    done = {"node_id": found.node_id, "peer": key, "connected": False}
    print_done(done, "disconnected", as_json=as_json)
