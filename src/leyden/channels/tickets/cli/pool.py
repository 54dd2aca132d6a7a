"""`leyden pool`: the operator's Pool account."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

import click

from leyden.base import settings
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, print_one
from leyden.base.opening import opened
from leyden.base.rules.units import BLOCKS_PER_DAY, MAX_SATS, Sats
from leyden.base.settings import Settings
from leyden.base.settings.private_chain import running_settings
from leyden.channels.tickets import pool_account
from leyden.channels.tickets.account import PoolAccount
from leyden.channels.tickets.rules.auction import AuctionAccount
from leyden.channels.tickets.wiring.pool import make_account
from leyden.errors import SetupError
from leyden.values import asdict

_sats = click.argument("sats", type=click.IntRange(1, MAX_SATS))
_fee = click.option(
    "--fee",
    type=click.IntRange(253, 10**6),
    help="Fee rate in sat/kw; otherwise pool_fee_sat_per_kw.",
)
_days = click.option(
    "--days",
    type=click.IntRange(2, 365),
    help="Days until it expires; otherwise pool_lives_days.",
)


@click.group(cls=LazyGroup)
def pool() -> None:
    """Manage the Pool account that pays for channels."""


@pool.command("open")
@_sats
@_days
@_fee
@as_json
def open_(sats: int, days: int | None, fee: int | None, *, as_json: bool) -> None:
    """Open an account of SATS, paid by the provider's lnd.

    The provider's lnd is the one that its poold uses.

    \b
    leyden pool open 5000000 --days 90
    """

    async def opened(account: PoolAccount, given: Settings) -> AuctionAccount:
        return await account.open(
            Sats(sats),
            blocks=(days or given.pool_lives_days) * BLOCKS_PER_DAY,
            fee_sat_per_kw=fee or given.pool_fee_sat_per_kw,
        )

    _tell(_on_account(opened), as_json=as_json)


@pool.command()
@_sats
@_fee
@as_json
def deposit(sats: int, fee: int | None, *, as_json: bool) -> None:
    """Deposit SATS into the account.

    The account must be open, not waiting for confirmations.

    \b
    leyden pool deposit 1000000
    """

    async def deposited(account: PoolAccount, given: Settings) -> AuctionAccount:
        return await account.deposit(
            Sats(sats), fee_sat_per_kw=fee or given.pool_fee_sat_per_kw
        )

    _tell(_on_account(deposited), as_json=as_json)


@pool.command()
@_days
@_fee
@as_json
def renew(days: int | None, fee: int | None, *, as_json: bool) -> None:
    """Renew the account, to expire this many days from now.

    The account is renewed automatically some days before it expires
    (pool_renew_days).

    \b
    leyden pool renew --days 90
    """

    async def renewed(account: PoolAccount, given: Settings) -> AuctionAccount:
        return await account.renew(
            blocks=(days or given.pool_lives_days) * BLOCKS_PER_DAY,
            fee_sat_per_kw=fee or given.pool_fee_sat_per_kw,
        )

    _tell(_on_account(renewed), as_json=as_json)


@pool.command()
@as_json
def status(*, as_json: bool) -> None:
    """Print the account's balance, unreserved balance and expiry.

    \b
    leyden pool status
    """

    async def looked(account: PoolAccount, given: Settings) -> dict[str, Any]:
        async with opened(given) as platform:
            standing = await pool_account.read(account, platform.database)
        return {
            **_fields(standing.account),
            "outstanding": standing.outstanding,
            "free": standing.free,
            "height": standing.height,
            "blocks_left": standing.blocks_left,
            "alarm": standing.alarm(low=Sats(given.pool_low_sats)) or None,
        }

    print_one(_on_account(looked), as_json=as_json)


def _on_account(
    step: Callable[[PoolAccount, Settings], Awaitable[Any]],
) -> Any:
    async def run() -> Any:
        given = running_settings(settings.load(os.environ))
        if not given.pool_host:
            raise SetupError(
                "pool_host: not set, so this platform has no Pool account; see "
                "docs/operators/sell-channels.md"
            )
        account = make_account(given)
        try:
            return await step(account, given)
        finally:
            await account.close()

    return asyncio.run(run())


def _fields(account: AuctionAccount) -> dict[str, Any]:
    fields = asdict(account)
    fields.pop("taproot")
    return fields


def _tell(account: AuctionAccount, *, as_json: bool) -> None:
    print_one(_fields(account), as_json=as_json)
