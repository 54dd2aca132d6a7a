"""`leyden wallet channels`: channel balances, read from the node itself."""

from pathlib import Path

import click
import msgspec

from leyden.base.cli.output import as_json, print_fields, print_json, print_rows
from leyden.client import channels as lnd_channels
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession, with_session
from leyden.customer.wallet.reaching import (
    admin_macaroon,
    macaroon_option,
    open_node,
    password_option,
    wallet_password,
)


@click.command()
@node_argument
@password_option
@macaroon_option
@as_json
@with_session
def channels(
    session: ApiSession,
    node: str,
    *,
    password_file: Path | None,
    macaroon_file: Path | None,
    as_json: bool,
) -> None:
    """Print how much a node can send and receive, channel by channel.

    peer_address is what other nodes need to connect to this one.

    A read-only macaroon is enough: --macaroon-file.

    \b
    leyden wallet channels pier
    """
    found = session.node(node)
    password = "" if macaroon_file else wallet_password(password_file)
    macaroon = admin_macaroon(session, found, macaroon_file, password)
    with open_node(session, found, macaroon=macaroon) as lnd:
        listed = lnd_channels.look(lnd)
        address = found.peer_address and lnd_channels.peer_address(
            lnd, found.peer_address
        )
    shown = msgspec.structs.asdict(listed)
    if as_json:
        print_json({"node_id": found.node_id, "peer_address": address, **shown})
        return
    rows = [msgspec.structs.asdict(each) for each in listed.channels]
    del shown["channels"]
    sums = {name: f"{sats:,} sat" for name, sats in shown.items()}
    print_fields({**sums, "peer_address": address})
    print()
    print_rows(
        rows,
        empty="no channels yet; order one: leyden channels order 2000000",
        spare=("point", "peer", "active"),
    )
