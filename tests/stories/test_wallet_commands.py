"""`leyden wallet` about money, typed, with a real lnd behind a real gateway."""

import json
import secrets
from functools import partial
from typing import Any

import pytest

from leyden.client.wallets import COMMANDS_ROOT_KEY
from leyden_workshop.devnet import access, wallet
from tests.stories.platform import RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(400),
    pytest.mark.asyncio(loop_scope="session"),
]
CAPACITY = 300_000


class Shell:
    """Types `leyden` as the owner of one node."""

    def __init__(self, platform: RunningPlatform) -> None:
        self.platform = platform
        self.name = f"lamp room {secrets.token_hex(3)}"
        password = secrets.token_hex(12)
        self._environment = {**platform.environment, "LEYDEN_WALLET_PASSWORD": password}

    async def types(self, *words: str, code: int = 0) -> str:
        before = self.platform.environment
        self.platform.environment = self._environment
        try:
            return await self.platform.run(*words, code=code)
        finally:
            self.platform.environment = before

    async def wallet(self, command: str, *words: str) -> Any:
        said = await self.types("wallet", command, self.name, *words, "--json")
        return json.loads(said[said.index("{") :])

    async def refused(self, command: str, *words: str, code: int) -> str:
        return await self.types("wallet", command, self.name, *words, code=code)

    async def is_active(self) -> bool:
        listed = await self.wallet("channels")
        return all(each["active"] for each in listed["channels"])


async def test_a_node_is_used_from_a_shell(trading_platform: RunningPlatform) -> None:
    """It buys a channel, is paid through it, pays, opens one of its own, and closes."""
    await trading_platform.spend_credit()
    shell = Shell(trading_platform)
    received = await receives(shell)
    paid = await pays_once(shell, received)
    transactions = await uses_coins(shell)

    async def is_listed(kind: str, identity: str) -> bool:
        rows = (await shell.wallet("payments", "--kind", kind))["payments"]
        return identity in {each["id"] for each in rows}

    for kind, identity in (
        ("payment", paid["payment_hash"]),
        ("invoice", received),
        *(("on-chain", txid) for txid in transactions),
    ):
        found = partial(is_listed, kind, identity)
        await trading_platform.until(f"the list has {identity}", found)

    # All macaroons that the commands baked have one root key, which can be revoked.
    listed = (await shell.wallet("macaroons"))["macaroons"]
    assert all(each["name"] for each in listed)
    root_key = ("--root-key", str(COMMANDS_ROOT_KEY))
    await shell.types("wallet", "revoke", shell.name, *root_key, "--yes")
    assert (await shell.wallet("fees"))["channels"]


async def receives(shell: Shell) -> str:
    """Hold that a bought channel receives, with hints that nobody asked for."""
    platform = shell.platform
    await shell.types("nodes", "create", shell.name, "--wait")
    await shell.types("wallet", "init", shell.name, "--unattended")
    order = json.loads(
        await shell.types("flow", "order", str(CAPACITY), "--for", shell.name, "--json")
    )
    if order["lightning_invoice"]:
        await platform.run("dev", "pay", order["lightning_invoice"])
    await shell.types("flow", "status", order["order_id"], "--wait", "filled")
    await platform.run("dev", "mine", "6")
    await platform.until("the channel is active", shell.is_active)
    made: dict[str, Any] = {}

    async def has_hints() -> bool:
        nonlocal made
        made = await shell.wallet("receive", "60000", "--memo", "two coffees")
        return bool(made["route_hints"])

    await platform.until("the node knows how it is found", has_hints)
    await platform.run("dev", "pay", made["invoice"])
    assert (await shell.wallet("channels"))["can_pay"] > 50_000
    return str(made["invoice"])


async def pays_once(shell: Shell, own: str) -> Any:
    """Hold that an invoice is paid once, and what can't be paid is refused."""
    lnds = access.load(shell.platform.home).lnds
    async with wallet.opened(lnds["customer"]) as customer:
        invoice = await customer.invoice(7_000)
        huge = await customer.invoice(200_000)
    paid = await shell.wallet("send", invoice, "--yes")
    assert (paid["state"], paid["sats"], paid["paid_before"]) == (
        *("succeeded", 7_000),
        False,
    )
    again = await shell.wallet("send", invoice, "--yes")
    assert again == {**paid, "paid_before": True}
    for target, says in (
        (huge, "sat to send"),
        (own, "is this node's own"),
        ("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "of another chain"),
    ):
        words = ("7000",) if target.startswith("bc1") else ()
        code = 5 if target == huge else 8
        refused = await shell.refused("send", target, *words, "--yes", code=code)
        assert says in refused
        assert "nothing was sent" in refused
    return paid


async def uses_coins(shell: Shell) -> list[str]:
    """Send and bump coins; open, price and close a channel; return transactions."""
    platform = shell.platform
    lnds = access.load(platform.home).lnds
    address = (await shell.wallet("receive", "--on-chain"))["address"]
    await platform.run("dev", "fund", address, "2000000", "--confirmations", "6")

    async def has_coins() -> bool:
        return bool((await shell.wallet("channels"))["on_chain"] == 2_000_000)

    await platform.until("the coins are there", has_coins)
    async with wallet.opened(lnds["customer"]) as customer:
        key, away = await customer.key(), await customer.address()
    sent = await shell.wallet("send", away, "21000", "--sat-per-vbyte", "2", "--yes")
    bumped = await shell.wallet("bump", sent["txid"], "--sat-per-vbyte", "9", "--yes")
    assert bumped["spent_output"].startswith(sent["txid"])
    await platform.run("dev", "mine", "6")
    peer = f"{key}@{lnds['customer'].peer}"
    opened = await shell.wallet("open", peer, "500000", "--private", "--yes")
    await platform.run("dev", "mine", "6")
    await platform.until("its own channel is active", shell.is_active)
    point = opened["channel_point"]
    both = ("--base-fee-msat", "0", "--fee-rate-ppm", "250")
    fees = await shell.wallet("fees", point, *both)
    (priced,) = fees["channels"]
    assert priced == {
        "channel_point": point,
        "base_fee_msat": 0,
        "fee_rate_ppm": 250,
    }
    closed = await shell.wallet("close", point, "--sat-per-vbyte", "2", "--yes")
    await platform.run("dev", "mine", "6")
    return [sent["txid"], closed["closing_txid"]]
