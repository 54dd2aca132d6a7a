"""Channels that are published once they are paid, among lnds with real daemons."""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.rules.times import utc_now
from leyden.channels.books.verify import verify
from leyden.channels.direct.base import WantedOpening
from leyden.channels.direct.lnd_unpublished import LndUnpublished
from leyden.channels.direct.rules.jit import (
    GIVEN_UP_AFTER,
    HOLD,
    JitOrder,
    JitStatus,
)
from leyden.channels.direct.rules.openings import Opening, OpeningRefused
from leyden.channels.services import JitSettings
from leyden.errors import Refused
from leyden.nodes.lnd.connection import LndAccess
from leyden_workshop.devnet import wallet
from leyden_workshop.devnet.chain import connected
from tests.stories.test_just_in_time import (
    coast_with_purse,
    newest_becomes,
    pay,
    restart_purse,
    selling,
)
from tests.stories.test_just_in_time import invoice as bought
from tests.stories.test_just_in_time_lnds import (
    Harbor,
    Invoice,
    buy,
    harbor_with,
    prove,
)
from tests.stories.test_ldk_node import Coast, ldk_node
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

RULES = JitSettings(client_trusts_lsp=True)


async def is_known(coast: Coast, order: JitOrder) -> bool:
    """Whether the chain, or its mempool, has the channel's transaction."""
    async with connected(coast.network.access.btcd) as chain:
        try:
            await chain.call("getrawtransaction", order.channel_point[:64])
        except Refused:
            return False
    return True


async def locked(coast: Coast) -> int:
    async with wallet.opened(coast.seller) as lnd:
        answer = await lnd.call("GET", "/v1/balance/blockchain")
    return int(answer["locked_balance"])


async def channels_of(coast: Coast) -> list[dict[str, object]]:
    """List the purse's channels to wallets."""
    async with wallet.opened(coast.seller) as lnd:
        return [each for each in await lnd.channels() if each["memo"]]


async def has_it(harbor: Harbor, invoice: Invoice) -> bool:
    path = f"/v1/invoice/{invoice.payment_hash.hex()}"
    return bool((await harbor.owner.call("GET", path))["state"] == "ACCEPTED")


async def claim(harbor: Harbor, invoice: Invoice) -> None:
    preimage = base64.b64encode(invoice.preimage).decode()
    await harbor.owner.call("POST", "/v2/invoices/settle", {"preimage": preimage})


async def refuse(harbor: Harbor, invoice: Invoice) -> None:
    raw = base64.b64encode(invoice.payment_hash).decode()
    await harbor.owner.call("POST", "/v2/invoices/cancel", {"payment_hash": raw})


async def is_published(harbor: Harbor, db: Database) -> bool:
    found = await newest_becomes(db, JitStatus.EARNED)
    return found.funding_fee is not None and await is_known(harbor.coast, found)


async def test_a_channel_is_published_once_its_payment_is_claimed(
    memory_path: Path, sqlite_db: Database, sealer: Sealer
) -> None:
    """Also if lnd is killed while the wallet has the payment, and nothing is public."""
    async with harbor_with(memory_path) as harbor:
        coast = harbor.coast
        async with selling(coast, sqlite_db, sealer, rules=RULES) as channels:
            order = await buy(channels, harbor)
            assert order.trusts
            invoice = await harbor.invoice(order, held=True)
            paying = asyncio.create_task(harbor.pay(order, invoice))
            order = await newest_becomes(sqlite_db, JitStatus.RESUMING)
            await until(lambda: has_it(harbor, invoice), within_s=60, every_s=0.2)
            assert not await is_known(coast, order)
            assert await locked(coast) == sum(each.sats for each in order.coins)
        await restart_purse(coast)
        assert await locked(coast) == sum(each.sats for each in order.coins)
        async with selling(coast, sqlite_db, sealer, rules=RULES) as channels:
            await harbor.start_wallet()

            async def is_active() -> bool:
                return all(each["active"] for each in await channels_of(coast))

            await until(is_active, within_s=60, every_s=0.2)
            await coast.mine(1)
            await asyncio.sleep(2)
            assert not paying.done()
            assert not await is_known(coast, order)
            await claim(harbor, invoice)
            (paid,) = await paying
            assert paid["status"] == "SUCCEEDED", paid
            await until(
                lambda: is_published(harbor, sqlite_db), within_s=60, every_s=0.1
            )
            assert await locked(coast) == 0
            await coast.mine(6)

            async def is_confirmed() -> bool:
                (channel,) = await channels_of(coast)
                return bool(channel["zero_conf_confirmed_scid"] != "0")

            await until(is_confirmed, within_s=60, every_s=0.1)
            order = await newest_becomes(sqlite_db, JitStatus.EARNED)
            again = await harbor.owner.call("POST", "/v1/invoices", {"value": "2000"})
            record = {
                "payment_hash": again["r_hash"],
                "payment_addr": again["payment_addr"],
            }
            assert await second(harbor, order, record) == "SUCCEEDED"
            await prove(channels)


async def test_a_channel_whose_payment_is_refused_costs_nothing(
    memory_path: Path, sqlite_db: Database, sealer: Sealer
) -> None:
    passed = [timedelta(0)]
    made: list[Stopping] = []

    def stopping(own: LndAccess) -> LndUnpublished:
        made.append(Stopping(own))
        return made[-1]

    async with harbor_with(memory_path) as harbor:
        coast = harbor.coast
        async with wallet.opened(coast.seller) as lnd:
            before = await lnd.balance()

        def clock() -> datetime:
            return utc_now() + passed[0]

        async with selling(
            coast, sqlite_db, sealer, rules=RULES, clock=clock
        ) as channels:
            order = await buy(channels, harbor)
            invoice = await harbor.invoice(order, held=True)
            paying = asyncio.create_task(harbor.pay(order, invoice))
            await until(lambda: has_it(harbor, invoice), within_s=60, every_s=0.2)
            await refuse(harbor, invoice)
            (failed,) = await paying
            assert failed["status"] == "FAILED", failed
            order = await newest_becomes(sqlite_db, JitStatus.UNPAID)
            assert len(await channels_of(coast)) == 1
            passed[0] += GIVEN_UP_AFTER
            await newest_becomes(sqlite_db, JitStatus.EXPIRED)
            assert await channels_of(coast) == []
            assert await locked(coast) == 0
            assert not await is_known(coast, order)
            await prove(channels)

        # Platform and lnd are killed once it is stored, before the wallet is asked.
        async with selling(
            coast, sqlite_db, sealer, rules=RULES, clock=clock, unpublished=stopping
        ) as channels:
            order = await buy(channels, harbor)
            assert order.trusts
            invoice = await harbor.invoice(order)
            paying = asyncio.create_task(harbor.pay(order, invoice))
            async with asyncio.timeout(60):
                await made[0].stored.wait()
        await restart_purse(coast)
        async with selling(
            coast, sqlite_db, sealer, rules=RULES, clock=clock
        ) as channels:
            await harbor.start_wallet()
            order = await newest_becomes(sqlite_db, JitStatus.OPENING)
            assert order.transaction
            passed[0] += HOLD
            (failed,) = await paying
            assert failed["status"] == "FAILED", failed
            passed[0] += timedelta(minutes=36)
            await newest_becomes(sqlite_db, JitStatus.SOLD)
            assert await locked(coast) == 0
            async with wallet.opened(coast.seller) as lnd:
                assert await lnd.balance() == before
            # ... and then it is paid. lnd's history is searched by time.
            passed[0] = timedelta(0)
            (paid,) = await harbor.pay(order, await harbor.invoice(order))
            assert paid["status"] == "SUCCEEDED", paid
            await until(
                lambda: is_published(harbor, sqlite_db), within_s=60, every_s=0.1
            )
            await prove(channels)


@pytest.mark.long
async def test_ldk_node_trusts_us_and_is_published(
    memory_path: Path, sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> None:
    passed = [timedelta(0)]

    def clock() -> datetime:
        return utc_now() + passed[0]

    async with (
        coast_with_purse(memory_path) as coast,
        selling(coast, sqlite_db, sealer, rules=RULES, clock=clock) as channels,
    ):
        async with ldk_node(coast, tmp_path / "one", source="lsps2") as ldk:
            preimage = secrets.token_bytes(32)
            payment_hash = hashlib.sha256(preimage).hexdigest()
            request = await bought(ldk, payment_hash)
            paying = asyncio.create_task(pay(coast, request))
            await ldk.happens("payment_claimable")
            order = await newest_becomes(sqlite_db, JitStatus.RESUMING)
            assert order.trusts
            assert not await is_known(coast, order)
            left = order.size_msat - order.fee_msat
            assert await ldk.do("claim", payment_hash, preimage.hex(), left) == "true"
            assert (await paying)["status"] == "SUCCEEDED"

            async def is_booked() -> bool:
                found = await newest_becomes(sqlite_db, JitStatus.EARNED)
                return found.funding_fee is not None

            await until(is_booked, within_s=60, every_s=0.1)
            assert await is_known(coast, order)
            await coast.mine(6)
            await ldk.do("sync")
            paid = await pay(coast, await ldk.do("receive", 15_000_000))
            assert paid["status"] == "SUCCEEDED", paid
            assert await locked(coast) == 0
        # Another one lets its payment expire.
        async with ldk_node(coast, tmp_path / "two", source="lsps2") as ldk:
            request = await bought(ldk, secrets.token_hex(32))
            paying = asyncio.create_task(pay(coast, request, max_parts=1))
            await ldk.happens("payment_claimable")
            order = await newest_becomes(sqlite_db, JitStatus.RESUMING)
            async with asyncio.timeout(120):
                while not paying.done():
                    await coast.mine(1)
                    await ldk.do("sync")  # else lnd closes its channel first
            assert (await paying)["status"] == "FAILED"
            await newest_becomes(sqlite_db, JitStatus.UNPAID)
            passed[0] += GIVEN_UP_AFTER
            await newest_becomes(sqlite_db, JitStatus.EXPIRED)
            assert not await is_known(coast, order)
            assert await locked(coast) == 0
        assert await verify(sqlite_db, purse=channels.purse) == []


class Stopping(LndUnpublished):
    """Stops for good once the transaction is stored."""

    def __init__(self, access: LndAccess) -> None:
        super().__init__(access)
        self.stored = asyncio.Event()

    async def open(
        self, wanted: WantedOpening, store: Callable[[str], Awaitable[None]]
    ) -> Opening | OpeningRefused:
        """Store, and stop."""

        async def and_stop(transaction: str) -> None:
            await store(transaction)
            self.stored.set()
            await asyncio.Event().wait()

        return await super().open(wanted, and_stop)


async def second(harbor: Harbor, order: JitOrder, made: dict[str, str]) -> str:
    """Pay the wallet 2,000 sat by the same channel id; return how it ended."""
    info = await harbor.payer.call("GET", "/v1/getinfo")
    expiry = int(info["block_height"]) + 90
    amount = {"amt_to_forward_msat": "2000000", "expiry": expiry}
    record = {"payment_addr": made["payment_addr"], "total_amt_msat": "2000000"}
    hops = [
        {**amount, "chan_id": harbor.channels[0], "pub_key": harbor.purse_key},
        {
            **amount,
            "chan_id": str(order.scid),
            "pub_key": harbor.wallet_key,
            "mpp_record": record,
        },
    ]
    route = {
        "total_time_lock": expiry + 144,
        "total_amt_msat": "2010000",
        "hops": hops,
    }
    found = await harbor.payer.call(
        "POST",
        "/v2/router/route/send",
        {"payment_hash": made["payment_hash"], "route": route},
    )
    return str(found["status"])
