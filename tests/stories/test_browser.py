"""What a person does with keys in the browser: real Chromium, real lnd, real Envoy.

The browser trusts the platform's authority where it was imported, and only there.
"""

import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Route

from leyden.client import macaroons
from leyden.errors import NodeAway, NodeRefused
from tests.nodes.pages.wallet import sealing
from tests.programs import needs
from tests.stories import window as windows
from tests.stories.platform import Owned, RunningPlatform
from tests.stories.window import Window

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    needs("chromium", "certutil"),
]

PASSWORD = "a lamp in the harbour"
OTHER = "a lamp on the other shore"
MAX_CLICKS = 8  # from signing in to a running node whose seed is sealed


@asynccontextmanager
async def alice(
    platform: RunningPlatform, folder: Path, *, trusting: bool = True
) -> AsyncIterator[Window]:
    """Alice's browser, in which she is signed in."""
    authority = Path(platform.facts["ca_path"]) if trusting else None
    async with windows.opened(folder, trusting=authority) as window:
        login = platform.facts["dashboard_login"]
        await window.page.goto(platform.facts["dashboard_url"])
        await window.type(email=login["email"], password=login["password"])
        await window.press("Sign in")
        await window.page.wait_for_url("**/nodes")
        yield window


async def turn_to(
    window: Window, platform: RunningPlatform, node: Owned, page: str
) -> None:
    team = platform.facts["organization_id"]
    root = platform.facts["dashboard_url"]
    await window.page.goto(f"{root}{team}/nodes/{node.id}/wallet/{page}")


async def make(window: Window, platform: RunningPlatform, name: str) -> Owned:
    """Make a node from the list of nodes on, and go where its page leads."""
    page = window.page
    await page.get_by_role("link", name="Create node").click()
    assert await page.input_value("#whitelist") == "127.0.0.1"
    await window.type(name=name)
    await window.press("Create node")
    await window.see("Create a wallet to finish setup.")  # by itself, once it does
    node_id = page.url.partition("?")[0].rpartition("/")[2]
    await page.get_by_role("link", name="Create wallet").click()
    await page.wait_for_url("**/wallet/initialise")
    return await platform.found(node_id)


async def initialise(
    window: Window, *, meanwhile: Awaitable[object] | None = None
) -> list[str]:
    """Go through the page as a person would; give the words that were shown."""
    await window.type(password=PASSWORD, again=PASSWORD)
    await window.press("Create seed")
    await window.see("Write these words down")
    words = await window.page.locator("#words li").all_text_contents()
    assert len(words) == 24
    await window.press("I've written them down")
    await answer(window, words)
    if meanwhile is not None:
        await meanwhile
    await window.press("Create wallet")
    return words


async def answer(window: Window, words: list[str]) -> None:
    """Type the three words that are asked for."""
    for position, label in enumerate(
        await window.page.locator("[data-ask]").all_text_contents()
    ):
        number = int(label.removeprefix("Word "))
        await window.page.fill(f"#word-{position}", words[number - 1])


async def answers(node: Owned) -> bool:
    try:
        await node.call("GET", "/v1/state")
    except NodeAway:
        return False
    return True


async def backup(
    platform: RunningPlatform, node: Owned, name: str | None = None
) -> str:
    """Return what the platform keeps, as it would show it to anyone with a key."""
    if name is None:
        return str((await platform.of(node, "GET", "/seed"))["seed"])
    return str((await platform.of(node, "GET", f"/macaroon/{name}"))["macaroon"])


async def test_a_nodes_keys_live_and_end_in_the_browser(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    folder = tmp_path / "alice"
    async with alice(platform, folder) as window:
        began = time.monotonic()
        node = await make(window, platform, "paper light")
        words = await initialise(window)
        await window.see("Your node is running")
        assert window.clicks <= MAX_CLICKS  # from the sign-in page on
        await platform.says(node, "running")
        assert time.monotonic() - began < 180
        seed = await backup(platform, node)
        assert sealing.header_of(seed)["leyden"] == {"node": node.id, "kind": "seed"}
        assert sealing.open_jwe(seed, PASSWORD) == " ".join(words)
        admin = sealing.open_jwe(await backup(platform, node, "admin"), PASSWORD)
        assert not list(platform.folder(node).rglob("*.macaroon"))

        looks = await look_at_balances(window, platform, node)
        baked = await bake_and_revoke(window, platform, node)
        await unlock(window, platform, node)
        await look_into_the_vault(window, platform, node, words)
        await change_password(window, platform, node, words)

        node.macaroon = admin
        assert (await node.call("GET", "/v1/getinfo"))["alias"] == "paper light"
        stored = await window.page.evaluate(
            "Object.entries({...localStorage, ...sessionStorage}).flat()"
        )
        path = urlsplit(window.page.url).path
        assert set(stored) <= {"htmx-current-path-for-history", path}
        # Chromium notes each refusal of lnd's: an address, two wrong passwords, and
        # what was asked of an lnd that was starting, before it was asked again.
        assert len(window.complaints) >= 3
        assert all("responded with a status of" in each for each in window.complaints)
    await nothing_was_told(
        platform,
        folder,
        window.urls,
        [PASSWORD, OTHER, admin, looks, baked, *pairs(words)],
    )
    await platform.of(node, "DELETE", "")


def pairs(words: list[str]) -> list[str]:
    """Return two words of a seed at a time, as they may be written one after the other.

    One alone is a word of English, which pages hold.
    """
    return [
        between.join(two)
        for two in pairwise(words)
        for between in (" ", ",", '","', "+", "%20")
    ]


async def bake_and_revoke(
    window: Window, platform: RunningPlatform, node: Owned
) -> str:
    await turn_to(window, platform, node, "bakery")
    await window.type(password=PASSWORD)
    await window.press("Open vault")
    await window.see("Macaroons of this node")
    await window.type(name="till")
    await window.page.fill("#until", "2099-01-01T00:00")
    await window.press("Bake macaroon")
    await window.see("Your new macaroon")
    assert await window.page.text_content("#baked") == "", "it is shown on demand"
    await window.press("Show QR code")
    assert await window.page.locator("#code path").count() == 1
    await window.press("Show macaroon")
    baked = (await window.page.text_content("#baked")) or ""
    async with window.page.expect_download() as download:
        await window.press("Download till.macaroon")
    saved = Path(await (await download.value).path()).read_bytes()
    assert saved == bytes.fromhex(baked)
    assert sealing.open_jwe(await backup(platform, node, "till"), PASSWORD) == baked
    assert b"time-before 20" in bytes.fromhex(baked)

    node.macaroon = baked
    assert (await node.call("GET", "/v1/getinfo"))["alias"] == "paper light"
    with pytest.raises(NodeRefused):
        await node.call("POST", "/v1/invoices", {"value": "7"})

    await window.type(name="door", address="192.0.2.7", until="")
    await window.press("Bake macaroon")
    await window.see("The new macaroon does not work from here, so it was revoked.")
    await window.see("not valid from the address that lnd sees")

    await window.press("Test till")
    await window.see("Works, ")
    await window.press("Revoke till")
    await window.page.click("#revoke")
    await window.see("Revoked")
    with pytest.raises(NodeRefused):
        await node.call("GET", "/v1/getinfo")
    return baked


async def look_at_balances(
    window: Window, platform: RunningPlatform, node: Owned
) -> str:
    """Open the vault on the node's page; give the macaroon that is kept for it."""
    team = platform.facts["organization_id"]
    overview = f"{platform.facts['dashboard_url']}{team}/nodes/{node.id}"
    await window.page.goto(overview)
    await window.type(password=PASSWORD)
    async with window.page.expect_request("**/v1/getinfo") as request:
        await window.press("Open vault")
    await window.see("No channels yet")
    assert len(await window.page.inner_text("#public-key")) == 66
    assert await window.page.input_value("#password") == ""
    macaroon = await (await request.value).header_value("grpc-metadata-macaroon") or ""
    looks = macaroons.parse(macaroon)
    assert {each for each in looks.permissions if not each.endswith(":read")} == {
        "uri:/lnrpc.Lightning/AddInvoice",
        "uri:/lnrpc.Lightning/NewAddress",
    }, "it can't spend"
    assert [each.partition(" ")[0] for each in looks.caveats] == ["time-before"]

    await window.page.get_by_role("link", name="Log", exact=True).click()
    await window.see("New block epoch subscription")
    assert str(platform.home) not in await window.page.content(), (
        "no path of this machine"
    )
    await window.page.goto(overview)
    await window.see("No channels yet")  # without being asked again
    await window.press("Lock")
    await window.see("Wallet password")
    assert await window.page.inner_text("#public-key") == ""
    return macaroon


async def unlock(window: Window, platform: RunningPlatform, node: Owned) -> None:
    await platform.of(node, "POST", "/restart")
    await platform.says(node, "waiting_unlock")
    await turn_to(window, platform, node, "unlock")
    await window.type(password="not the password")
    await window.press("Unlock")
    await window.see("Wrong wallet password.")
    await window.type(password=PASSWORD)
    await window.press("Unlock")
    await window.see("lnd is running")
    await platform.says(node, "running")


async def look_into_the_vault(
    window: Window, platform: RunningPlatform, node: Owned, words: list[str]
) -> None:
    await turn_to(window, platform, node, "vault")
    await window.see("admin")
    await window.type(password=PASSWORD)
    await window.press("Open vault")
    await window.see("Decrypted backups")
    await window.page.get_by_role("button", name="Show").first.click()
    await window.see(" ".join(words))
    await window.press("Hide all")
    assert await window.page.get_by_text(" ".join(words)).count() == 0


async def change_password(
    window: Window, platform: RunningPlatform, node: Owned, words: list[str]
) -> None:
    await turn_to(window, platform, node, "password")
    await window.see("lnd can change the password only while the wallet is locked")
    await platform.of(node, "POST", "/restart")
    await platform.says(node, "waiting_unlock")
    await turn_to(window, platform, node, "password")
    await window.type(current="not the password", next=OTHER, again=OTHER)
    await window.press("Change password")
    await window.see("Wrong wallet password.")
    assert sealing.open_jwe(await backup(platform, node), PASSWORD) == " ".join(words)
    await window.type(current=PASSWORD, next=OTHER, again=OTHER)
    await window.press("Change password")
    await window.see("Password changed")
    await platform.says(node, "running")
    assert sealing.open_jwe(await backup(platform, node), OTHER) == " ".join(words)
    for name in ("admin", "till"):
        sealing.open_jwe(await backup(platform, node, name), OTHER)


async def nothing_was_told(
    platform: RunningPlatform, folder: Path, urls: list[str], secrets: list[str]
) -> None:
    """Look for secrets in all that went to the platform, in addresses, and on disk."""
    sent = windows.sent_to(folder)
    api = platform.facts["base_url"].removeprefix("http://")
    doors = f"127.0.0.1:{platform.facts['gateway']['rest_port']}"
    answer = b"".join(
        said for receiver, said in sent.items() if receiver.startswith(api)
    )
    node = b"".join(
        said for receiver, said in sent.items() if receiver == f"{doors} SSL"
    )
    assert b"/wallet/backups" in answer, "the log holds what the platform was told"
    for secret in secrets:
        for form in windows.forms(secret):
            assert form not in answer
            assert form.decode("latin-1") not in " ".join(urls)
    for secret in secrets[:2]:
        assert any(form in node for form in windows.forms(secret)), "and the node"
    assert {receiver.rpartition(" ")[0] for receiver in sent} <= {api, doors}, (
        "nobody else"
    )
    for file in (folder / "profile").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not any(secret.encode() in content for secret in secrets), file


@pytest.mark.long
async def test_what_breaks_off_goes_on_and_loses_nothing(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    node = await platform.create("rope light")
    await platform.says(node, "waiting_init")
    async with alice(platform, tmp_path / "alice") as window:
        page = window.page
        await page.route("**/v1/initwallet", lambda route: route.abort())
        await turn_to(window, platform, node, "initialise")
        words = await initialise(window)
        await window.see("Your browser could not reach the node")
        assert sealing.open_jwe(await backup(platform, node), PASSWORD) == " ".join(
            words
        )

        await turn_to(window, platform, node, "initialise")
        await window.type(password=OTHER, again=OTHER)
        await window.press("Create seed")
        await window.see("A seed is already stored for this node")
        await page.unroute("**/v1/initwallet")
        await page.route("**/wallet/backups", refuse_to_keep)
        await turn_to(window, platform, node, "initialise")
        assert await initialise(window) == words
        await window.see("Could not reach the platform")
        await page.unroute("**/wallet/backups")
        await window.press("Continue")
        await window.see("Your node is running")
        sealing.open_jwe(await backup(platform, node, "admin"), PASSWORD)
    await platform.of(node, "DELETE", "")


@pytest.mark.long
async def test_another_try_goes_on_to_the_end(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    node = await platform.create("tether light")
    await platform.says(node, "waiting_init")
    async with alice(platform, tmp_path / "alice") as window:
        await window.page.route("**/v1/initwallet", lambda route: route.abort())
        await turn_to(window, platform, node, "initialise")
        await initialise(window)
        await window.see("Your browser could not reach the node")
        await window.page.unroute("**/v1/initwallet")
        await window.press("Try again")
        await window.see("Your node is running")
    await platform.of(node, "DELETE", "")


async def test_a_second_window_does_not_replace_the_seed_of_the_first(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    node = await platform.create("twin light")
    await platform.says(node, "waiting_init")
    about = {"node": node.id, "kind": "seed"}
    firsts = sealing.seal_jwe("the seed of the first window", PASSWORD, about)
    async with alice(platform, tmp_path / "alice") as window:
        keep = platform.of(node, "POST", "/seed", {"seed": firsts})
        await turn_to(window, platform, node, "initialise")
        await initialise(window, meanwhile=keep)
        await window.see("is already stored")
    assert await backup(platform, node) == firsts
    assert await node.call("GET", "/v1/state") == {"state": "NON_EXISTING"}
    await platform.of(node, "DELETE", "")


async def refuse_to_keep(route: Route) -> None:
    """Stand for a platform that is away whenever something is to be kept."""
    if route.request.method == "POST":
        await route.abort()
    else:
        await route.continue_()


@pytest.mark.long
async def test_a_wallet_is_made_again_of_what_was_written_down(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    old = await platform.create("old light")
    await platform.says(old, "waiting_init")
    async with alice(platform, tmp_path / "alice") as window:
        await turn_to(window, platform, old, "initialise")
        words = await initialise(window)
        await window.see("Your node is running")
        await platform.says(old, "running")
        old.macaroon = sealing.open_jwe(await backup(platform, old, "admin"), PASSWORD)
        before = (await old.call("GET", "/v1/getinfo"))["identity_pubkey"]
        await platform.of(old, "DELETE", "")

        node = await platform.create("new light")
        await platform.says(node, "waiting_init")
        await turn_to(window, platform, node, "restore")
        wrong = [*words[:5], words[6], words[5], *words[7:]]
        await window.type(words=" ".join(wrong), password=OTHER, again=OTHER)
        await window.press("Restore")
        await window.see("These words are not a valid seed")
        await window.press("Back")
        numbered = [f"{position + 1}. {word}" for position, word in enumerate(words)]
        await window.type(words="\n".join(numbered), password=OTHER, again=OTHER)
        await window.press("Restore")
        await window.see("Wallet restored")
    assert sealing.open_jwe(await backup(platform, node), OTHER) == " ".join(words)
    node.macaroon = sealing.open_jwe(await backup(platform, node, "admin"), OTHER)
    assert (await node.call("GET", "/v1/getinfo"))["identity_pubkey"] == before
    await platform.of(node, "DELETE", "")


@pytest.mark.long
async def test_what_is_in_the_way_is_said_with_what_to_do(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    node = await platform.create("fog light")
    await platform.says(node, "waiting_init")
    async with alice(platform, tmp_path / "stranger", trusting=False) as window:
        await turn_to(window, platform, node, "initialise")
        await window.see("Your browser does not trust this platform's certificates yet")
        async with window.page.expect_download() as download:
            await window.page.get_by_text("the authority's certificate").click()
        authority = Path(await (await download.value).path())
        assert authority.read_bytes() == Path(platform.facts["ca_path"]).read_bytes()
        shown = await window.page.locator("[data-reason=certificate]").text_content()
        said = windows.fingerprint(authority)
        assert said in (shown or "")

    async with alice(platform, tmp_path / "alice") as window:
        await platform.of(node, "POST", "/whitelist", {"whitelist": ["192.0.2.7"]})
        await turn_to(window, platform, node, "initialise")
        await window.see("Your IP address is not allowed.")
        await window.see("127.0.0.1")
        await platform.of(node, "POST", "/whitelist", {"whitelist": ["127.0.0.1"]})
        await platform.until("the owner is let in", lambda: answers(node))
        await window.type(password=PASSWORD, again=PASSWORD)
        await window.press("Try again")
        await window.press("Create seed")
        await window.see("Write these words down")

        await platform.of(node, "POST", "/stop")
        await platform.says(node, "stopped")
        await turn_to(window, platform, node, "initialise")
        await window.see("The node is not running")
    await platform.of(node, "DELETE", "")
