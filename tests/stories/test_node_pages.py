"""A node's money in its owner's browser: real Chromium, real lnds, and a real channel.

The owner opens a channel, pays, is paid, and closes it; the platform hears none of it.
"""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from tests.nodes.pages.wallet.sealing import seal_jwe
from tests.programs import built, needs
from tests.stories.platform import RunningPlatform
from tests.stories.test_browser import alice, nothing_was_told, turn_to
from tests.stories.test_node_story import is_answered
from tests.stories.test_peers import COINS, Peer
from tests.stories.window import Window

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    needs("chromium", "certutil"),
]

PASSWORD = "a lamp in the harbour"
MEMO, ANOTHER = "a rope for the pier", "two ropes for the pier"


async def with_coins(platform: RunningPlatform, name: str, version: str) -> Peer:
    built(f"lnd {version}")
    settings = {"alias": name}
    made = await platform.create(name, version=version, settings=settings)
    peer = Peer(platform, made)
    await peer.opens_its_wallet()
    await platform.until("it has its coins", peer.has_its_coins)
    return peer


async def in_the_vault(platform: RunningPlatform, peer: Peer) -> None:
    """Store the admin macaroon, as the page that creates a wallet does."""
    about = {"node": peer.node.id, "kind": "macaroon", "name": "admin"}
    sealed = seal_jwe(peer.node.macaroon, PASSWORD, about)
    body = {"name": "admin", "macaroon": sealed}
    await platform.of(peer.node, "POST", "/macaroon", body)


async def confirm(window: Window, *, asks: bool) -> None:
    await window.page.wait_for_selector("#confirm-action[open]")
    assert await window.page.is_visible("#confirm-password") == asks
    if asks:
        await window.type(confirm_password=PASSWORD)
    await window.page.click("#confirm-button")


async def receive(window: Window, amount: int, memo: str) -> str:
    await window.type(amount=str(amount), memo=memo)
    await window.press("Create")
    await window.see("Waiting for the payment.")
    return await window.page.inner_text("#invoice")


async def open_a_channel(window: Window, west: Peer) -> None:
    await window.type(password=PASSWORD)
    await window.press("Open vault")
    await window.see("No channels yet.")
    uri = f"{west.key}@{west.address}"
    await window.type(peer_uri=uri, funding="1000000", open_rate="2")
    await window.press("Open channel")
    await confirm(window, asks=True)
    await window.see("The channel opens once its transaction is confirmed")
    await window.see("pending")


async def pay(window: Window, west: Peer) -> str:
    """Pay an invoice, and try it again; return the macaroon that could spend."""
    asked = {"value": "32000", "memo": "a net"}
    request = (await west.call("POST", "/v1/invoices", asked))["payment_request"]
    await window.page.fill("#to", request)
    await window.press("Continue")
    await window.see("a net")
    await window.press("Pay")
    async with window.page.expect_request("**/v2/router/send") as sent:
        await confirm(window, asks=True)
    await window.see("Paid 32,000 sat")
    await window.page.reload()
    await window.page.fill("#to", request)
    await window.press("Continue")
    await window.see("This node has already paid this invoice")
    return await (await sent.value).header_value("grpc-metadata-macaroon") or ""


async def be_paid(window: Window, west: Peer) -> None:
    request = await receive(window, 5_000, MEMO)
    await west.pays_invoice(request)
    await window.see("Paid: 5,000 sat")
    await window.press("Create another")
    await receive(window, 6_000, ANOTHER)


async def change_fees_and_close(window: Window, east: Peer) -> None:
    page = window.page
    await page.click("[data-change]")
    await window.type(base="7", ppm="77")
    await window.press("Change fees")
    await confirm(window, asks=True)
    await window.see("Fees changed: 1 channel.")
    (fees,) = (await east.call("GET", "/v1/fees"))["channel_fees"]
    assert (fees["base_fee_msat"], fees["fee_per_mil"]) == ("7", "77")
    await page.click("[data-close]")
    await page.get_by_role("button", name="Close channel", exact=True).click()
    await confirm(window, asks=False)
    await window.see("The channel is closing")


async def send_coins(window: Window, west: Peer) -> None:
    address = (await west.call("GET", "/v1/newaddress"))["address"]
    await window.page.fill("#to", f"bitcoin:{address}?amount=0.0005")
    await window.press("Continue")
    await window.see("On-chain")
    await window.type(rate="2")
    await window.press("Pay")
    await confirm(window, asks=True)
    await window.see("Sent 50,000 sat")


@pytest.mark.parametrize(
    "version", ["v0.20.2-beta", pytest.param("v0.21.2-beta", marks=pytest.mark.long)]
)
async def test_the_owner_opens_a_channel_pays_is_paid_and_closes_it(
    platform: RunningPlatform, tmp_path: Path, version: str
) -> None:
    east, west = await asyncio.gather(
        *(with_coins(platform, name, version) for name in ("east quay", "west quay"))
    )
    await in_the_vault(platform, east)
    folder = tmp_path / "alice"
    async with alice(platform, folder) as window:
        turn = partial(turn_to, window, platform, east.node)
        await turn("channels")
        await open_a_channel(window, west)
        await platform.run("dev", "mine", "6")
        await platform.until("it is active", partial(east.has_channels, 1))
        way = f"/v1/graph/routes/{west.key}/32000"
        await platform.until("lnd knows it", partial(is_answered, east.call, way))

        await turn("send")  # where nobody asks for the vault's password again
        spends = await pay(window, west)
        await turn("receive")
        await be_paid(window, west)
        await turn("payments")
        for words in (MEMO, "+5,000 sat", "\N{MINUS SIGN}32,000 sat", "openchannel"):
            await window.see(words)
        await turn("channels")
        await change_fees_and_close(window, east)
        await platform.until("it is closed", partial(east.has_channels, 0))
        await platform.run("dev", "mine", "1")
        await turn("send")
        await send_coins(window, west)
        await platform.run("dev", "mine", "1")

        async def has_arrived() -> bool:
            found = await west.call("GET", "/v1/balance/blockchain")
            return int(found["confirmed_balance"]) > COINS

        await platform.until("the coins are there", has_arrived)
    secrets = [MEMO, ANOTHER, PASSWORD, east.node.macaroon, spends]
    await nothing_was_told(platform, folder, window.urls, secrets)
    for each in (west, east):
        await platform.of(each.node, "DELETE", "")
