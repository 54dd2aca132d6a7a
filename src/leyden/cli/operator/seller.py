"""`leyden seller`: the wallet that direct channels are opened from."""

import click

from leyden.cli.operator.running import on_shop
from leyden.cli.output import as_json, print_fields, print_json
from leyden.errors import SetupError
from leyden.services.channels import seller_balance
from leyden.services.channels.seller_balance import SellerBalance
from leyden.services.channels.shop import Shop
from leyden.services.platform import Platform
from leyden.values import asdict


@click.command()
@click.option("--address", is_flag=True, help="Print a new address to fill the wallet.")
@as_json
def seller(*, address: bool, as_json: bool) -> None:
    """Print the seller's wallet, and channels that wait for a block.

    Each free coin opens one channel at a time: its change waits for a block. Send
    several coins, each larger than the largest channel that you want to sell.

    \b
    leyden seller
    leyden seller --address
    """

    async def looked(platform: Platform) -> tuple[SellerBalance, str, str]:
        shop = _shop(platform)
        found = await seller_balance.look(shop)
        where = await seller_balance.address(shop) if address else ""
        return found, where, seller_balance.alarm(found, low=shop.rules.seller_low)

    found, where, alarm = on_shop(looked)
    shown = asdict(found) | ({"address": where} if where else {})
    if as_json:
        print_json({"alarm": alarm or None, **shown})
        return
    for line in (alarm, seller_balance.old_macaroon(found.denied)):
        if line:
            print(f"{line}\n")
    for name in ("denied", "fundings"):
        del shown[name]
    print_fields(shown)
    for each in found.fundings:
        print(f"\nunconfirmed for {each.blocks} blocks:")
        print_fields(asdict(each))


def _shop(platform: Platform) -> Shop:
    if platform.shop is None or platform.shop.seller is None:
        raise SetupError(
            "seller_host: not set, so no direct channels are sold; see "
            "docs/direct-channels.md"
        )
    return platform.shop
