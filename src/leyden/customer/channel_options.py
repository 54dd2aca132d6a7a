"""The options that describe a channel, and what they ask the platform for."""

from collections.abc import Callable
from typing import Any

import click

from leyden.customer.recipients import Recipient
from leyden.customer.session import Session
from leyden.customer.wallet.reaching import macaroon_option, password_option


def channel_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that describe a channel to a command."""
    for option in (
        password_option,
        macaroon_option,
        click.option(
            "--announce",
            is_flag=True,
            help="With --for: announce the channel to the network.",
        ),
        click.option(
            "--zero-conf",
            is_flag=True,
            help=(
                "With --for: usable before it confirms. An order for your own node "
                "needs --wait: the command makes your node accept the channel."
            ),
        ),
        click.option(
            "--for",
            "node",
            metavar="NODE",
            help="Node that gets the channel: one of yours, or PUBLIC-KEY[@HOST:PORT].",
        ),
        click.option(
            "--bps", type=int, help="Maximum premium, in hundredths of a percent."
        ),
        click.option(
            "--tier",
            "node_tier",
            type=click.Choice(["best", "any"]),
            help="Seller: well-rated nodes only (best), or any.",
        ),
        click.option(
            "--lease",
            "lease_duration_blocks",
            type=int,
            help="Minimum lifetime in blocks: 2016, 4032, ... 52416.",
        ),
        click.option(
            "--self-balance",
            "self_chan_balance",
            type=int,
            help="Your starting balance, in satoshis.",
        ),
    ):
        command = option(command)
    return click.argument("capacity", type=int)(command)


def wish_of(
    session: Session, capacity: int, options: dict[str, Any]
) -> tuple[dict[str, Any], Recipient | None]:
    """Return the fields of a request for this channel, and whom it is for."""
    named = options.pop("node")
    files = {name: options.pop(name) for name in ("password_file", "macaroon_file")}
    wish = {
        name: value
        for name, value in options.items()
        if value is not None and value is not False  # 0 is for the platform to refuse
    }
    if not named:
        return wish, None
    to = Recipient(session, named, **files)
    return wish | to.wish(capacity), to
