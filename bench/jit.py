"""B20: a just-in-time channel, against the bare steps; and what holding costs others.

`channel`: from the first part that lnd asks about to the wallet's claim. The base is a
minimal program that stores nothing and checks nothing: it opens the channel, adds the
alias, and resumes. Both sell to the same lnd, over the same purse.
`crowd`: payments to somebody else pass through the purse, while 100 orders are held,
and while none are.

    ./leyden bench jit [channel|crowd ...] [--rounds N]
"""

import argparse
import asyncio
import base64
import contextlib
import json
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bench.measure import Figures, Report, quantile, turns

from leyden.base.database.database import Database, open_database
from leyden.base.database.schema import migrate
from leyden.base.database.secrets import Keyring, Sealer
from leyden.base.rules.times import utc_now
from leyden.base.rules.units import Sats
from leyden.channels.direct.connection import SellerConnection
from leyden.channels.direct.lnd_forwarding import LndForwarding, LndInterception
from leyden.channels.direct.rules import jit
from leyden.channels.direct.rules.jit import (
    HeldHtlc,
    HtlcAnswer,
    JitOrder,
    JitStatus,
)
from leyden.channels.services import ChannelServices, JitSettings
from leyden.nodes.lnd.connection import LndAccess
from leyden.values import replace
from leyden_workshop.devnet import actions, purse, wallet
from tests.channels.contracts.treasuries import owners_access
from tests.stories.test_just_in_time import orders, selling
from tests.stories.test_just_in_time_lnds import (
    Harbor,
    Invoice,
    buy,
    harbor_with,
)
from tests.waiting import until

BARE, OURS, AGAIN = "bare", "ours", "bare again"
HELD, NOTHING, STILL_NOTHING = "100 held", "nothing held", "nothing held again"
CROWD, PAYMENTS = 100, 60
_SMALL = 20_000_000
_RULES = JitSettings(
    most_per_hour=Sats(10**9), most_unpaid=Sats(10**9), orders_per_peer=10_000
)


class Asked(LndForwarding):
    """Notes when lnd asks about the first HTLC of an order."""

    first_s = 0.0

    @asynccontextmanager
    async def intercept(self) -> AsyncIterator[LndInterception]:
        """Connect."""
        async with super().intercept() as connection:
            yield _Noting(connection, self)


class _Noting(LndInterception):
    def __init__(self, one: LndInterception, asked: Asked) -> None:
        self._one, self._asked = one, asked

    async def answer(self, answer: HtlcAnswer) -> None:
        await self._one.answer(answer)

    async def htlcs(self) -> AsyncGenerator[HeldHtlc, None]:
        async for each in self._one.htlcs():
            if jit.may_be_ours(each.scid) and not self._asked.first_s:
                self._asked.first_s = time.perf_counter()
            yield each


# The base.


async def bare(own: LndAccess, key: str, order: JitOrder) -> float:
    """Serve one payment; return when lnd asked about it."""
    lnd = SellerConnection(own)
    try:
        async with lnd.socket("/v2/router/htlcinterceptor") as socket:
            asked = json.loads((await socket.receive()).data)["result"]
            began = time.perf_counter()
            body = {
                "node_pubkey": base64.b64encode(bytes.fromhex(key)).decode(),
                "local_funding_amount": str(order.capacity),
                "private": True,
                "zero_conf": True,
                "scid_alias": True,
                "commitment_type": "ANCHORS",
                "sat_per_vbyte": "2",
                "memo": order.id,
            }
            opening = lnd.stream("POST", "/v1/channels/stream", body)
            async with contextlib.aclosing(opening):
                await anext(opening)
            channel: dict[str, Any] | None = None
            while channel is None:
                listed = (await lnd.call("GET", "/v1/channels"))["channels"]
                channel = next(
                    (c for c in listed if c.get("memo") == order.id and c["active"]),
                    None,
                )
            alias = {"base_scid": channel["chan_id"], "aliases": [str(order.scid)]}
            await lnd.call("POST", "/v2/router/x/addaliases", {"alias_maps": [alias]})
            out = int(asked["outgoing_amount_msat"]) - order.fee_msat
            extra = base64.b64encode(order.fee_msat.to_bytes(8, "big")).decode()
            await socket.send_json(
                {
                    "incoming_circuit_key": asked["incoming_circuit_key"],
                    "action": "RESUME_MODIFIED",
                    "out_amount_msat": str(out),
                    "out_wire_custom_records": {"65537": extra},
                }
            )
            await asyncio.sleep(5)  # the connection is kept until it is claimed
    finally:
        await lnd.close()
    return began


# The contenders.


async def claimed(harbor: Harbor, invoice: Invoice) -> float:
    """Return when the wallet claims it."""
    stream = harbor.owner.stream("GET", "/v1/invoices/subscribe")
    async with contextlib.aclosing(stream):
        async for update in stream:
            ours = base64.b64decode(update["r_hash"]) == invoice.payment_hash
            if ours and update["state"] == "SETTLED":
                return time.perf_counter()
    raise AssertionError("the wallet closed the stream")


async def channel_turn(name: str, harbor: Harbor, database: Database) -> float:
    """Let one channel be opened by a payment; return how long that took."""
    own = _purse_of(harbor)
    made: list[Asked] = []

    def asked(access: LndAccess) -> LndForwarding:
        made.append(Asked(access))
        return made[-1]

    async with selling(
        harbor.coast, database, Sealer(Keyring.new()), over=asked, rules=_RULES
    ) as channels:
        order = await buy(channels, harbor)
        invoice = await harbor.invoice(order)
        ending = asyncio.create_task(claimed(harbor, invoice))
        if name == OURS:
            (paid,) = await harbor.pay(order, invoice)
            ended, began = await ending, made[0].first_s
    if name != OURS:
        serving = asyncio.create_task(bare(own, harbor.wallet_key, order))
        await asyncio.sleep(0.5)  # it is connected
        (paid,) = await harbor.pay(order, invoice)
        ended, began = await ending, await serving
    assert paid["status"] == "SUCCEEDED", paid
    await harbor.coast.mine(1)  # its change can be spent
    return ended - began


def _purse_of(harbor: Harbor) -> LndAccess:
    own = owners_access(harbor.coast.seller)
    return replace(own, macaroon=purse.macaroon(harbor.coast.home))


async def channel(report: Report, rounds: int, folder: Path) -> None:
    """Compare channels."""
    figures = Figures()
    async with harbor_with(folder / "chain") as harbor, _books(folder) as database:
        await _fund(harbor, 3 * rounds)
        for name in turns([BARE, OURS, AGAIN], rounds=rounds):
            figures.add(name, await channel_turn(name, harbor, database))
    report.null(figures.ratio(AGAIN, BARE))
    report.at_most(1.3, figures.ratio(OURS, BARE))
    for name in (BARE, OURS):
        report.note(f"{name}: {figures.median(name):.2f} s (median)")


async def crowd(report: Report, rounds: int, folder: Path) -> None:
    """Compare payments of others beside 100 held orders."""
    figures = Figures()
    passed = [timedelta(0)]

    def clock() -> datetime:
        return utc_now() + passed[0]

    async with (
        harbor_with(folder / "chain", channels=2) as harbor,
        _books(folder) as database,
        selling(
            harbor.coast, database, Sealer(Keyring.new()), clock=clock, rules=_RULES
        ) as channels,
    ):
        order = await buy(channels, harbor)
        await harbor.pay(order, await harbor.invoice(order))
        await asyncio.sleep(3)
        assert channels.purse is not None
        listed = await channels.purse.forwarding.channels()
        (scid,) = [each.scid for each in listed if each.order_id == order.id]
        for name in turns([NOTHING, HELD, STILL_NOTHING], rounds=rounds):
            paying: list[asyncio.Task[list[dict[str, Any]]]] = []
            if name == HELD:
                held = await _sold(channels, CROWD)
                paying = [
                    asyncio.create_task(harbor.pay(each, _nobodys(), [_SMALL]))
                    for each in held
                ]
                await until(lambda: _are_held(database, CROWD), within_s=60)
            took = [await _pass_one(harbor, scid) for _ in range(PAYMENTS)]
            figures.add(name, quantile(took, 0.99))
            if paying:
                passed[0] += jit.HOLD
                await asyncio.gather(*paying)
    report.null(figures.ratio(STILL_NOTHING, NOTHING))
    what = "p99 of others, 100 held / nothing held"
    report.at_most(1.2, figures.ratio(HELD, NOTHING, what=what))
    report.note(f"p99 of others: {figures.median(NOTHING):.3f} s (median)")


async def _sold(channels: ChannelServices, count: int) -> list[JitOrder]:
    """Sell to nodes that are not there."""
    now = channels.clock()
    (any_order, *_) = await orders(channels.database)
    made = [
        replace(
            any_order,
            id=jit.scid_from(secrets.randbelow(2**57)),
            peer=f"02{secrets.token_hex(32)}",
            status=JitStatus.SOLD,
            created=now,
            valid_until=now + timedelta(days=1),
            size_msat=_SMALL,
            coins=(),
            channel_point="",
            payment_hash="",
            funding_fee=None,
            earned_msat=0,
        )
        for _ in range(count)
    ]
    async with channels.database.transaction() as tx:
        for each in made:
            assert await tx.jit_orders.add(each)
    return made


async def _are_held(database: Database, count: int) -> bool:
    found = await orders(database)
    return sum(each.status is JitStatus.HOLDING for each in found) == count


def _nobodys() -> Invoice:
    address = base64.b64encode(secrets.token_bytes(32)).decode()
    return Invoice(secrets.token_bytes(32), address)


async def _pass_one(harbor: Harbor, scid: int) -> float:
    """Send a payment that nobody knows through the purse; return how long it took.

    By the payer's other channel: for each payment lnd signs all that a channel holds.
    """
    info = await harbor.payer.call("GET", "/v1/getinfo")
    expiry = int(info["block_height"]) + 90
    amount = {"amt_to_forward_msat": "100000", "expiry": expiry}
    hops = [
        {**amount, "chan_id": harbor.channels[-1], "pub_key": harbor.purse_key},
        {**amount, "chan_id": str(scid), "pub_key": harbor.wallet_key},
    ]
    route = {
        "total_time_lock": expiry + jit.CLTV_DELTA,
        "total_amt_msat": "102000",
        "hops": hops,
    }
    unknown = base64.b64encode(secrets.token_bytes(32)).decode()
    began = time.perf_counter()
    failed = await harbor.payer.call(
        "POST", "/v2/router/route/send", {"payment_hash": unknown, "route": route}
    )
    assert failed["failure"]["code"].startswith("INCORRECT"), failed
    return time.perf_counter() - began


async def _fund(harbor: Harbor, coins: int) -> None:
    async with wallet.opened(harbor.coast.seller) as its:
        for _ in range(coins):
            address = await its.address()
            await actions.fund(harbor.coast.home, address, 1_000_000, confirmations=0)
    await harbor.coast.mine(6)


@asynccontextmanager
async def _books(folder: Path) -> AsyncIterator[Database]:
    url = f"sqlite:///{folder}/leyden.db"
    await asyncio.to_thread(migrate, url)
    database = await open_database(url)
    try:
        yield database
    finally:
        await database.close()


# With rounds: one of `crowd` takes a minute.
PARTS = {"channel": (channel, 8), "crowd": (crowd, 3)}


async def run(parts: list[str], rounds: int | None) -> int:
    """Measure the parts."""
    report = Report("B20 just-in-time channels")
    for name in parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            measure, usual = PARTS[name]
            await measure(report, rounds or usual, Path(folder))
    return report.end()


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="|".join(PARTS))
    parser.add_argument("--rounds", type=int)
    given = parser.parse_args()
    return asyncio.run(run(given.parts, given.rounds))


if __name__ == "__main__":
    sys.exit(main())
