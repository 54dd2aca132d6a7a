"""`leyden claim`: an order's ticket becomes a channel of a hosted node."""

from pathlib import Path

import click

from leyden.cli.bodies import body_in
from leyden.cli.customer.completion import names_of_nodes
from leyden.cli.customer.session import Session, with_session
from leyden.cli.output import as_json
from leyden.cli.wallet.reaching import macaroon_option, password_option


@click.command()
@click.argument("order_id", metavar="ORDER")
@click.option(
    "--for",
    "node",
    default="",
    metavar="NODE",
    shell_complete=names_of_nodes,
    help="The node that gets the channel; not needed if you have one.",
)
@password_option
@macaroon_option
@click.option(
    "--within",
    "within_s",
    type=click.IntRange(1, 604_800),
    default=86_400,
    show_default=True,
    help="Seconds to wait at most; then the exit code is 7.",
)
@as_json
@with_session
@body_in("leyden.cli.claim.body")
def claim(
    session: Session,
    order_id: str,
    *,
    node: str,
    password_file: Path | None,
    macaroon_file: Path | None,
    within_s: int,
    as_json: bool,
) -> None:
    """Turn a paid order's ticket into a channel of your hosted node.

    Runs poold on this machine, beside the node: builds it the first time, lets
    it reach the node through the gateway with a macaroon of its own, registers
    the ticket, and waits until the node has its channel. That takes minutes to
    hours. Then poold is stopped and its macaroon revoked.

    After Ctrl-C, or a crash, run the same command again: the ticket and the keys
    of its channel are kept on this machine until the channel is there.

    \b
    leyden claim ORDER
    leyden claim ORDER --for pier
    """
