"""Setup of what an open market needs: coins, accounts, asks, channels.

Every function can be called any number of times: if nothing is missing, the
function only checks.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from leyden.channels.rules.pricing import LEASES
from leyden.errors import Away, Refused, SetupError
from leyden_workshop.devnet import access, actions, trader, wallet
from leyden_workshop.devnet.following import wait_until_synced
from leyden_workshop.devnet.trader import TraderAccount

# After so many blocks every account and every channel counts as confirmed.
DEEP_ENOUGH = 6
# Nearly as long as an account can live: a year of ten minutes' blocks.
_ACCOUNT_BLOCKS = 50_000
# An account that ends sooner than that is not opened for new orders.
_LAST_BLOCKS = 2_000
# A twentieth of a percent for the usual lease, where buyers are asked half a percent.
ASK_RATE = 248
_ASK_SATS = 100_000_000
PROVIDER_SATS = 300_000_000
_PROVIDER_LEAST_SATS = PROVIDER_SATS // 10
# Asks that are smaller than the largest channel and some more are joined by new ones.
_LEAST_ASKED_SATS = 25_000_000
# An ask, its fees and what a batch may cost for each of its smallest channels.
_ASK_TAKES_SATS = 110_000_000
PAID = ("treasury", "asker", "seller", "purse")  # by the customer, if they are there
_COINS = 5
_WITHIN_S = 60.0
_LOOK_AGAIN_S = 0.2


async def ensure_coins(home: Path, name: str, sats: int, *, least: int) -> bool:
    """Fund an lnd if its balance is below `least`; return whether it did."""
    network = access.load(home)
    async with wallet.opened(network.lnds[name]) as lnd:
        if await lnd.balance() >= least:
            return False
        for _ in range(_COINS):
            address = await lnd.address()
            await actions.fund(home, address, sats // _COINS, confirmations=0)
    await actions.mine(home, DEEP_ENOUGH)
    await wait_until_synced(network, name)
    return True


async def ensure_account(home: Path, name: str, sats: int, *, available: int) -> bool:
    """Open an account for a poold if needed; return whether it did.

    An account is needed if none has `available` sats left.
    """
    network = access.load(home)
    async with trader.connect(network.pools[name]) as pool:
        if await _find_account(home, await pool.accounts(), available):
            return False
        made = await pool.open_account(sats, blocks=_ACCOUNT_BLOCKS)

        async def is_open() -> bool:
            found = await pool.accounts()
            return any(a.key == made.key and a.state == "OPEN" for a in found)

        await actions.mine(home, DEEP_ENOUGH)
        await _until(is_open, f"{name}'s account did not open; see its log")
    return True


async def ensure_provider(home: Path) -> bool:
    """Ensure that the provider can buy; return whether an account was added.

    A second account is opened rather than the first one topped up: a deposit
    would have to wait for the blocks after a batch. Bids use the account with
    the most left.
    """
    network = access.load(home)
    async with trader.connect(network.pools["provider"]) as pool:
        if await _find_account(home, await pool.accounts(), _PROVIDER_LEAST_SATS):
            return False
    # Its lnd is the treasury's, which is given coins once.
    limit = PROVIDER_SATS + 1_000_000
    await ensure_coins(home, "treasury", 2 * limit, least=limit)
    return await ensure_account(
        home, "provider", PROVIDER_SATS, available=_PROVIDER_LEAST_SATS
    )


async def ensure_asks(home: Path, book: Mapping[str, Any]) -> int:
    """Ensure asks for every lease duration; return the number added.

    `book` is the auctioneer's own status.
    """
    lacking = missing_leases(book["orders"])
    if not lacking:
        return 0
    network = access.load(home)
    # An account is paid out of coins that come out of thin air.
    limit = 1_000_000_000
    await ensure_coins(home, "asker", 5 * limit, least=limit + 1_000_000)
    await ensure_account(home, "asker-pool", limit, available=_ASK_TAKES_SATS)
    added = 0
    async with trader.connect(network.pools["asker-pool"]) as pool:
        for blocks in lacking:
            account = await _find_account(home, await pool.accounts(), _ASK_TAKES_SATS)
            if account is None:
                break  # the next look opens another one
            await pool.ask(account, _ASK_SATS, rate_fixed=ASK_RATE, blocks=blocks)
            added += 1
    return added


def missing_leases(orders: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the lease durations with too few asks among these orders."""
    wanted_by_lease = dict.fromkeys(LEASES, 0)
    for order in orders:
        if order["side"] == "ask":
            wanted_by_lease[order["duration"]] = (
                wanted_by_lease.get(order["duration"], 0) + order["sats"]
            )
    return [blocks for blocks in LEASES if wanted_by_lease[blocks] < _LEAST_ASKED_SATS]


async def ensure_channels(home: Path, *, sats: int, least: int) -> list[str]:
    """Ensure announced channels from the customer; return to whom some were opened.

    The customer pays orders at the treasury, and buyers through who sold them their
    channels. lnd names a private channel in an invoice only if its own graph has an
    announced channel of the peer, so that payers can reach it.
    """
    network = access.load(home)
    paid = [name for name in PAID if name in network.lnds]
    await ensure_coins(home, "customer", 10 * sats, least=(len(paid) + 1) * sats)
    async with AsyncExitStack() as stack:
        customer, *others = [
            await stack.enter_async_context(wallet.opened(network.lnds[name]))
            for name in ("customer", *paid)
        ]
        key = await customer.key()
        keys = {name: await lnd.key() for name, lnd in zip(paid, others, strict=True)}
        channels = await customer.channels()
        lacking = [name for name in paid if not _can_pay(channels, keys[name], least)]
        for name in lacking:
            await wait_until_synced(network, name)
            at = network.lnds[name].peer
            await customer.open_channel(keys[name], at=at, sats=sats)
        if lacking:
            await actions.mine(home, DEEP_ENOUGH)
        for name, lnd in zip(paid, others, strict=True):
            # An active channel may still be missing in the payer's graph.
            reachable = functools.partial(customer.has_route, keys[name], least)
            await _until(reachable, f"the customer can't reach the {name}; see its log")
            announced = functools.partial(lnd.announces, keys[name], key)
            await _until(announced, f"the {name} announces no channel; see its log")
    return lacking


def _can_pay(channels: Iterable[Mapping[str, Any]], key: str, sats: int) -> bool:
    """Return whether so much can be paid to a peer through an announced channel."""
    return any(
        each["remote_pubkey"] == key
        and int(each["local_balance"]) >= sats
        and not each["private"]
        for each in channels
    )


async def _find_account(
    home: Path, accounts: Iterable[TraderAccount], sats: int
) -> TraderAccount | None:
    """Return an account that new orders can be placed with, or None."""
    status = await actions.height(home)
    return next(
        (
            each
            for each in accounts
            if each.alive
            and each.available_sats >= sats
            and each.expires > status + _LAST_BLOCKS
        ),
        None,
    )


async def _until(holds: Callable[[], Awaitable[bool]], otherwise: str) -> None:
    """Wait for a condition; retry while daemons are away or busy."""
    try:
        async with asyncio.timeout(_WITHIN_S):
            while True:
                try:
                    if await holds():
                        return
                except (Away, Refused):
                    pass
                await asyncio.sleep(_LOOK_AGAIN_S)
    except TimeoutError:
        raise SetupError(otherwise) from None
