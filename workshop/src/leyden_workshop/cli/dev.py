"""`leyden dev`: commands that act on the private chain."""

from pathlib import Path

import click

from leyden.app.cli.local_platform import home_option
from leyden.base import logs
from leyden.base.cli.bodies import body_in
from leyden.base.cli.groups import LazyCommand, LazyGroup
from leyden.base.cli.output import as_json

_BODIES = "leyden_workshop.cli.running.private_chain"
_LAZY = {
    "cluster": LazyCommand(
        "leyden_workshop.cli.cluster",
        "Run a Kubernetes cluster on this machine, for tests.",
    ),
    "record": LazyCommand(
        "leyden_workshop.cli.recording",
        "Record the first minutes of a platform, for the README.",
    ),
}


@click.group(cls=LazyGroup, lazy=_LAZY)
def dev() -> None:
    """Control the private chain that `leyden up` starts."""
    # What these commands have to say they print; the rest is for a platform's log.
    logs.configure(form="text", level="warning")


@dev.command()
@click.argument("blocks", type=int, default=1)
@home_option
@as_json
@body_in(_BODIES)
def mine(blocks: int, home: Path | None, *, as_json: bool) -> None:
    """Mine BLOCKS blocks.

    \b
    leyden dev mine 6
    """


@dev.command()
@click.argument("address")
@click.argument("sats", type=int)
@click.option(
    "--confirmations",
    type=click.IntRange(0, 100),
    default=1,
    show_default=True,
    help="Confirmations to mine; 0 leaves the payment unconfirmed.",
)
@home_option
@as_json
@body_in(_BODIES)
def fund(
    address: str, sats: int, confirmations: int, home: Path | None, *, as_json: bool
) -> None:
    """Send SATS satoshis from the chain's faucet to ADDRESS.

    \b
    leyden dev fund sb1p... 1000000
    """


@dev.command()
@click.option("--wait", is_flag=True, help="Wait until the market is open.")
@home_option
@as_json
@body_in(_BODIES)
def status(home: Path | None, *, wait: bool, as_json: bool) -> None:
    """Print the chain's height and the state of its nodes and market.

    \b
    leyden dev status --wait
    """


@dev.command()
@click.argument("ticket")
@home_option
@as_json
@body_in(_BODIES)
def register(ticket: str, home: Path | None, *, as_json: bool) -> None:
    """Register the sidecar TICKET of an order, as the customer.

    \b
    leyden dev register sidecar1...
    """


@dev.command()
@home_option
@as_json
@body_in(_BODIES)
def asks(home: Path | None, *, as_json: bool) -> None:
    """List the channels for sale in the auction.

    \b
    leyden dev asks
    """


@dev.command()
@click.argument("invoice")
@home_option
@as_json
@body_in(_BODIES)
def pay(invoice: str, home: Path | None, *, as_json: bool) -> None:
    """Pay a Lightning INVOICE, as the customer.

    \b
    leyden dev pay lnsb...
    """


@dev.command()
@click.argument("address")
@click.argument("sats", type=int)
@home_option
@as_json
@body_in(_BODIES)
def send(address: str, sats: int, home: Path | None, *, as_json: bool) -> None:
    """Send SATS of the customer's satoshis to ADDRESS, unconfirmed.

    \b
    leyden dev send sb1p... 1000000
    """


@dev.command()
@home_option
@as_json
@body_in(_BODIES)
def tick(home: Path | None, *, as_json: bool) -> None:
    """Run an auction batch now, and print its result.

    \b
    leyden dev tick
    """


@dev.command()
@click.argument("name", type=click.Choice(["first-channel", "direct-channel", "lsps1"]))
@click.option(
    "--capacity",
    type=int,
    default=1_000_000,
    show_default=True,
    help="Capacity of the channel, in satoshis.",
)
@click.option("--hosted", is_flag=True, help="Buy the channel for a hosted node.")
@home_option
@as_json
@body_in(_BODIES)
def scenario(
    name: str, capacity: int, home: Path | None, *, hosted: bool, as_json: bool
) -> None:
    """Buy a channel from beginning to end, with real programs.

    first-channel: order an inbound channel, pay over Lightning, register the ticket,
    match it in the auction, wait until the channel is active, and pay an invoice of the
    buyer's node. The buyer is the chain's customer. With --hosted, the buyer is the
    owner of a hosted node, with its own poold; the first run creates the node, and
    later runs use it again.

    direct-channel: the order names the node, and the channel opens without a ticket.
    With --hosted, it is the same hosted node.

    lsps1: a wallet without an account here buys a channel over LSPS1.

    \b
    leyden dev scenario first-channel
    leyden dev scenario direct-channel --hosted
    """


@dev.command()
@home_option
@body_in(_BODIES)
def env(home: Path | None) -> None:
    """Print shell variables to call the API and to find `leyden` itself.

    \b
    eval "$(leyden dev env)"
    """
