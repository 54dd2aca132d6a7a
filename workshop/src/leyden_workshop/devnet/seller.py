"""The seller of direct channels on a private chain: its coins, and our macaroon."""

from collections.abc import Iterable
from pathlib import Path

from leyden.base.files import write_private
from leyden.channels.direct.connection import MESSAGE_PERMISSIONS, PERMISSIONS
from leyden_workshop.devnet import access, actions
from leyden_workshop.devnet.access import LndEndpoint
from leyden_workshop.devnet.following import wait_until_synced
from leyden_workshop.devnet.wallet import opened

COIN_SATS = 20_000_000
_COINS = 8  # each opens one channel at a time: its change waits for a block
_LEAST_COINS = 4


def macaroon(home: Path) -> Path:
    """Return the path of the macaroon's file."""
    return home / "seller.macaroon"


async def ensure(home: Path) -> bool:
    """Bake the platform's macaroon; fill the wallet if it has few coins."""
    seller = access.load(home).lnds["seller"]
    await bake(seller, home)
    async with opened(seller) as wallet:
        answer = await wallet.call("GET", "/v1/utxos?min_confs=1&max_confs=2147483647")
        large = [x for x in answer["utxos"] if int(x["amount_sat"]) >= COIN_SATS // 2]
        if len(large) >= _LEAST_COINS:
            return False
        for _ in range(_COINS):
            await actions.fund(home, await wallet.address(), COIN_SATS, confirmations=0)
    await actions.mine(home, 1)
    await wait_until_synced(access.load(home), "seller")
    return True


async def bake(seller: LndEndpoint, home: Path) -> None:
    """Bake the macaroon with lnd and store it for its owner only."""
    await bake_into(macaroon(home), seller, (*PERMISSIONS, *MESSAGE_PERMISSIONS))


async def bake_into(path: Path, lnd: LndEndpoint, permissions: Iterable[str]) -> None:
    """Bake a macaroon with these permissions and store it for its owner only."""
    wanted = [
        dict(zip(("entity", "action"), each.split(":"), strict=True))
        for each in permissions
    ]
    async with opened(lnd) as wallet:
        baked = await wallet.call("POST", "/v1/macaroon", {"permissions": wanted})
    write_private(path, bytes.fromhex(baked["macaroon"]))
