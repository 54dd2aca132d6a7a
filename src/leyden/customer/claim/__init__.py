"""`leyden channels use-ticket`: a ticket becomes a channel of a hosted node."""

from pathlib import Path

import click

from leyden.base.cli.bodies import body_in
from leyden.base.cli.output import as_json
from leyden.customer.completion import names_of_nodes
from leyden.customer.session import ApiSession, with_session
from leyden.customer.wallet.reaching import macaroon_option, password_option


@click.command()
@click.argument("order_id", metavar="ORDER")
@click.option(
    "--for",
    "node",
    default="",
    metavar="NODE",
    shell_complete=names_of_nodes,
    help="Node that gets the channel. Default: your node, if you have only one.",
)
@password_option
@macaroon_option
@click.option(
    "--timeout",
    "within_s",
    type=click.IntRange(1, 604_800),
    default=86_400,
    show_default=True,
    help="Maximum seconds to wait; then exit 7.",
)
@as_json
@with_session
@body_in("leyden.customer.claim.body")
def use_ticket(
    session: ApiSession,
    order_id: str,
    *,
    node: str,
    password_file: Path | None,
    macaroon_file: Path | None,
    within_s: int,
    as_json: bool,
) -> None:
    """Use a paid order's ticket to open a channel to your hosted node.

    Runs poold on this machine: builds it the first time, connects it to the node with
    its own macaroon, registers the ticket, and waits until the channel is open, which
    takes minutes to hours. Then it stops poold and revokes the macaroon.

    After Ctrl-C or a crash, run the same command again. This machine stores the ticket
    and the channel's keys until the channel is open.

    \b
    leyden channels use-ticket ORDER
    leyden channels use-ticket ORDER --for pier
    """
