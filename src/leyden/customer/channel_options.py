"""The options that describe a channel, and whom it is for: `--for NODE`."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from leyden.client import ApiError
from leyden.customer.session import ApiSession
from leyden.customer.wallet.reaching import (
    admin_macaroon,
    has_wallet,
    macaroon_option,
    open_node,
    password_option,
    wallet_password,
)

_KEY_DIGITS = 66
_KEY_UNKNOWN = "node: we don't know this node's public key yet"


class Recipient:
    """Whom the channel is for: a public key, or a node of yours."""

    def __init__(
        self,
        session: ApiSession,
        named: str,
        *,
        password_file: Path | None,
        macaroon_file: Path | None,
    ) -> None:
        self._session = session
        self._files = password_file, macaroon_file
        self._named = named
        key = named.partition("@")[0]
        is_key = len(key) == _KEY_DIGITS and key[:2] in {"02", "03"}
        self.node = None if is_key else session.node(named)

    def wish(self, capacity: int) -> dict[str, Any]:
        """Return the order's fields for the node.

        The platform mostly knows a node's public key; where it does not, the node
        itself is asked, with its owner's macaroon.
        """
        if self.node is None:
            return {"node": self._named}
        wish = {"node_id": self.node.node_id}
        if not any(self._files):
            try:
                self._session.client.flow.quote(capacity, **wish)
            except ApiError as error:
                if not error.message.startswith(_KEY_UNKNOWN):
                    raise
            else:
                return wish
        has_wallet(self.node)  # else a password of nothing would be asked for
        with open_node(self._session, self.node, macaroon=self.macaroon) as lnd:
            return {**wish, "node": str(lnd.get("/v1/getinfo")["identity_pubkey"])}

    @cached_property
    def macaroon(self) -> str:
        """Ask once for the macaroon of the user's node."""
        if self.node is None:
            raise ValueError("somebody else's node")
        password_file, macaroon_file = self._files
        password = "" if macaroon_file else wallet_password(password_file)
        return admin_macaroon(self._session, self.node, macaroon_file, password)


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
    session: ApiSession, capacity: int, options: dict[str, Any]
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
