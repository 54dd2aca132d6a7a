"""`leyden seller`: the wallet that direct channels are opened from."""

from typing import Any

import click

from leyden.base.cli.output import as_json, print_fields, print_json, print_rows
from leyden.base.platform import Platform
from leyden.channels.cli.running import on_channels
from leyden.channels.direct import lease_watch, seller_balance
from leyden.channels.direct.jit import state as jit
from leyden.channels.direct.jit.state import JitTotals
from leyden.channels.direct.seller_balance import SellerBalance, Unconfirmed
from leyden.channels.services import ChannelServices
from leyden.errors import SetupError
from leyden.values import Struct, asdict


@click.command()
@click.option("--address", is_flag=True, help="Print a new address to fund the wallet.")
@click.option("--ended", is_flag=True, help="List open channels whose lease has ended.")
@as_json
def seller(*, address: bool, ended: bool, as_json: bool) -> None:
    """Print the seller's wallet, and the channels waiting for a confirmation.

    Each coin in the wallet can open one channel per block: its change is usable after a
    confirmation. Fund the wallet with several coins, each larger than the largest
    channel you sell.

    The platform never closes a channel. --ended lists those that you may close.

    \b
    leyden seller
    leyden seller --address
    leyden seller --ended
    """
    if ended:
        _print_ended(as_json=as_json)
        return

    found = _read(address=address)
    if as_json:
        print_json(_fields(found))
        return
    old_macaroon = seller_balance.old_macaroon(found.denied)
    for line in (found.alarm, old_macaroon, found.unreachable):
        if line:
            print(f"{line}\n")
    print_fields(found.shown)
    if found.jit is not None:
        print("\njust-in-time channels")
        print_fields(asdict(found.jit))
    for each in found.fundings:
        print(f"\nunconfirmed for {each.blocks} blocks:")
        print_fields(asdict(each))


def seller_fields() -> dict[str, Any]:
    """Return what the command prints with --json; raise SetupError without a seller."""
    return _fields(_read(address=False))


def _read(*, address: bool) -> "_Looked":
    async def looked(platform: Platform) -> _Looked:
        channels = _channels(platform)
        found = await seller_balance.read(channels)
        return _Looked(
            balance=found,
            alarm=seller_balance.alarm(found, low=channels.rules.seller_low),
            address=await seller_balance.address(channels) if address else "",
            denied=await seller_balance.denied(channels),
            unreachable=await seller_balance.unreachable(channels),
            fundings=await seller_balance.unconfirmed(channels, height=found.height),
            jit=await jit.totals(platform.database.reader) if channels.purse else None,
        )

    return on_channels(looked)


def _fields(found: "_Looked") -> dict[str, Any]:
    return {
        "alarm": found.alarm or None,
        **found.shown,
        "denied": found.denied,
        "unreachable": found.unreachable or None,
        "fundings": found.fundings,
        "jit": asdict(found.jit) if found.jit else None,
    }


def _print_ended(*, as_json: bool) -> None:
    found = on_channels(lambda platform: lease_watch.ended(_channels(platform)))
    rows = [
        {"order_id": each.order_id, "channel_point": each.point, "ended_at": each.ends}
        for each in found
    ]
    if as_json:
        print_json({"leases": rows})
    else:
        print_rows(rows, empty="no lease of an open channel has ended")


class _Looked(Struct, frozen=True, kw_only=True):
    """The seller, at one moment."""

    balance: SellerBalance
    alarm: str
    address: str
    denied: list[str]
    unreachable: str
    fundings: list[Unconfirmed]
    jit: JitTotals | None  # None: no just-in-time channels are sold

    @property
    def shown(self) -> dict[str, Any]:
        """The balance, and the address if one was asked for."""
        address = {"address": self.address} if self.address else {}
        return asdict(self.balance) | address


def _channels(platform: Platform) -> ChannelServices:
    if platform.channels is None or platform.channels.seller is None:
        raise SetupError(
            "seller_host: not set, so no direct channels are sold; see "
            "docs/operators/sell-channels.md"
        )
    return platform.channels
