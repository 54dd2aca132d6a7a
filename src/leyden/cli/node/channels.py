"""`leyden node channels`: what a node can pay and be paid, asked of the node itself."""

from pathlib import Path

import click
import msgspec

from leyden.cli.customer.completion import node_argument
from leyden.cli.customer.session import Session, speaking
from leyden.cli.node.reaching import (
    admin_macaroon,
    macaroon_option,
    password_option,
    reached,
    wallet_password,
)
from leyden.cli.output import as_json, print_fields, print_json, print_rows
from leyden.client import channels as told


@click.command()
@node_argument
@password_option
@macaroon_option
@as_json
@speaking
def channels(
    session: Session,
    node: str,
    *,
    password_file: Path | None,
    macaroon_file: Path | None,
    as_json: bool,
) -> None:
    """Show what a node can pay and be paid, channel by channel.

    A macaroon that may only read will do: --macaroon-file.

    \b
    leyden node channels pier
    """
    found = session.node(node)
    password = "" if macaroon_file else wallet_password(password_file)
    macaroon = admin_macaroon(session, found, macaroon_file, password)
    with reached(session, found, macaroon=macaroon) as lnd:
        seen = told.look(lnd)
    shown = msgspec.structs.asdict(seen)
    if as_json:
        print_json({"node_id": found.node_id, **shown})
        return
    rows = [msgspec.structs.asdict(each) for each in seen.channels]
    del shown["channels"]
    print_fields({name: f"{sats} sat" for name, sats in shown.items()})
    print()
    print_rows(
        rows,
        empty="no channels yet; order one: leyden flow order 2000000",
        spare=("point", "peer", "active"),
    )
