"""Every page in a real browser: clean, readable by everyone, on any screen."""

import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, Literal

import pytest
from playwright.async_api import ViewportSize

from leyden.app.front import dashboard, make_front
from leyden.app.serving.site import Site
from leyden.base.http.server import bind, serving
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.events import letters
from leyden.events.rows.email_links import EmailLink, LinkKind
from leyden.people import accounts, api_keys
from leyden.values import replace
from tests.base.pages.conftest import PASSWORD
from tests.base.pages.keyboard import faults_by_keyboard
from tests.base.pages.mailroom import SENDS_EMAILS
from tests.base.pages.rooms import ROOMS, addresses
from tests.base.pages.screen import NARROW, WIDE, Screen, chromium, served
from tests.base.pages.visitor import Visitor
from tests.channels.api.flow.conftest import World
from tests.channels.pages.test_channels import ONCE, ordered
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made
from tests.people.pages.test_team import user_id
from tests.ports import free_port
from tests.programs import needs
from tests.waiting import until

EVIL = "<img src=x onerror=alert(1)>"

pytestmark = needs("chromium")


@pytest.fixture
def settings() -> Settings:
    return SENDS_EMAILS


@pytest.fixture
def platform(selling: Platform) -> Platform:
    return selling


@pytest.fixture
async def base(site: Site) -> AsyncIterator[str]:
    async with served(site) as url:
        yield url


@pytest.fixture
async def pages(
    alice: Visitor, fleet_harness: FleetHarness, platform: Platform, world: World
) -> list[str]:
    """Every page there is, with what others wrote on it."""
    node = await made(alice, fleet_harness)
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.node_files.logs[stored.id] = [f"[INF] {EVIL}", "x" * 200]
    order = await ordered(alice)
    await world.coupon(21_000, alice.organization_id)
    key, _ = await api_keys.create(
        platform,
        alice.organization_id,
        name=EVIL,
        scopes=["node"],
        expires=None,
        actor=f"operator:{EVIL}",
    )
    operators_key, _ = await api_keys.create_operator_key(
        platform, name=EVIL, expires=None, actor=EVIL
    )
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor=EVIL
    )
    team = await accounts.create_organization(platform, EVIL, actor="test")
    await alice.get(f"{node}/webhook")
    url = {"webhook": "https://hooks.example/"}
    assert (await alice.submit(f"{node}/webhook", url)).status == 303
    assert (await alice.submit(f"{node}/webhook/test")).status == 303
    endpoints = f"{alice.root}/events/endpoints"
    endpoint = {"url": f"https://hooks.example/{'x' * 200}", "which": "some"}
    endpoint |= {"type": "node.*", "description": EVIL, "once": ONCE}
    assert (await alice.submit(endpoints, endpoint)).status == 200
    assert (await alice.submit(f"{endpoints}/{ONCE}S/test")).status == 303
    of_alarms = {**endpoint, "type": "disk.*", "once": str(uuid.uuid4())}
    operators = "/app/operator/events/endpoints"
    assert (await alice.submit(operators, of_alarms)).status == 200
    alarmed = f"{operators}/{of_alarms['once']}S"
    assert (await alice.submit(f"{alarmed}/test")).status == 303
    await alice.get(f"{alice.root}/team")
    invited = {"email": "dora@example.org", "role": "viewer"}
    assert (await alice.submit(f"{alice.root}/team/invite", invited)).status == 200
    invitations = platform.database.reader.invitations
    (invitation,) = await invitations.list_(
        alice.organization_id, now=fleet_harness.now
    )
    ids = {
        "organization_id": alice.organization_id,
        "node_id": node.rpartition("/")[2],
        "order_id": order.rpartition("/")[2],
        "subscription_id": f"{ONCE}S",
        "alarm_endpoint_id": f"{of_alarms['once']}S",
        "id": team.id,
        "key_id": key.id,
        "operator_key_id": operators_key.id,
        "user_id": await user_id(platform, "alice"),
        "invitation_id": invitation.id,
    }
    ids["email_word"] = await linked(platform, ids["user_id"])
    return addresses(ROOMS, ids)


async def linked(platform: Platform, user_id: str) -> str:
    """Confirm Alice's address; return the word of a link that changes it."""
    word, now = "lantern", platform.clock()
    link = EmailLink(
        digest=letters.link_digest(platform.sealer, word),
        kind=LinkKind.CONFIRM,
        user_id=user_id,
        address="alice@harbour.test",
        browser=None,
        password=None,
        created=now,
        expires=now + timedelta(days=1),
    )
    async with platform.database.transaction() as tx:
        await tx.email_links.confirm(user_id, "alice@example.org", now=now)
        await tx.email_links.add(link)
    return word


Scheme = Literal["light", "dark"]


# Each page is seen one way or the other; in the long run both ways.
@pytest.mark.parametrize(
    ("scheme", "size", "half"),
    [
        ("light", WIDE, 0),
        ("dark", NARROW, 1),
        pytest.param("light", WIDE, 1, marks=pytest.mark.long),
        pytest.param("dark", NARROW, 0, marks=pytest.mark.long),
    ],
)
async def test_every_page_is_clean_and_open_to_everyone(
    base: str, pages: list[str], scheme: Scheme, size: ViewportSize, half: int
) -> None:
    faults: list[str] = []
    async with chromium() as browser:
        context = await browser.new_context(color_scheme=scheme, viewport=size)
        screen = await Screen.opened(context, base)
        await screen.sign_in("alice@example.org")
        for path in pages[half::2]:
            await screen.go(path)
            found = await screen.faults()
            if scheme == "light":
                found += await faults_by_keyboard(screen.page)
            faults += [f"{path}: {each}" for each in found]
    assert faults == []
    assert screen.complaints == []


async def test_the_status_page_is_clean_on_a_phone(platform: Platform) -> None:
    sockets = bind("127.0.0.1", 0)
    own = f"http://localhost:{sockets[0].getsockname()[1]}"
    given = replace(platform, settings=replace(platform.settings, status_page=True))
    site = dashboard(given, version="0.1.0", origins=[own])
    front = make_front(given, site, far=None, challenges=None)
    async with serving(front, sockets, grace_s=1), chromium() as browser:
        context = await browser.new_context(viewport=NARROW)
        screen = await Screen.opened(context, own)
        await screen.go("/status")
        assert "Platform status" in await screen.page.content()
        assert await screen.faults() == []
        assert screen.complaints == []


async def test_a_passkey_signs_in_and_a_removed_one_does_not(
    platform: Platform, alice: Visitor
) -> None:
    port = free_port()
    own = f"http://localhost:{port}"
    site = dashboard(platform, version="0.1.0", origins=[own])
    device: dict[str, Any] = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    async with served(site, port) as base, chromium() as browser:
        context = await browser.new_context()
        screen = await Screen.opened(context, base)
        page = screen.page
        session = await context.new_cdp_session(page)
        await session.send("WebAuthn.enable")
        await session.send("WebAuthn.addVirtualAuthenticator", {"options": device})
        await screen.sign_in("alice@example.org")
        await screen.go("/app/account")
        await page.fill("#passkey-name", "my phone")
        await page.fill("#passkey-password", PASSWORD)
        await page.click("text=Add passkey")
        await page.wait_for_url("**/account?done=passkey")
        assert await page.locator("th", has_text="my phone").count() == 1

        async def out() -> None:
            await context.clear_cookies()
            await page.goto(f"{base}/app/sign-in")

        await out()
        await page.click("text=Sign in with a passkey")
        await page.wait_for_url("**/nodes")
        assert page.url == f"{base}{alice.root}/nodes"

        await screen.go("/app/account")
        await page.click("a[aria-label='Remove my phone']")
        await page.click("dialog button:has-text('Remove passkey')")
        await page.wait_for_url("**/account?done=forgotten")
        await out()
        await page.click("text=Sign in with a passkey")
        await page.wait_for_selector("text=This passkey is unknown")


async def test_times_are_in_the_readers_zone_with_utc_on_hover(
    base: str, alice: Visitor
) -> None:
    """Without scripts they are in UTC."""
    async with chromium() as browser:
        for scripts, shown, hover in (
            (True, "2026-03-01 13:00", "2026-03-01 12:00:00 UTC"),
            (False, "2026-03-01 12:00 UTC", None),
        ):
            context = await browser.new_context(
                java_script_enabled=scripts, timezone_id="Europe/Berlin"
            )
            screen = await Screen.opened(context, base)
            await screen.sign_in("alice@example.org")
            await screen.go(f"{alice.root}/team")
            time = screen.page.locator("time").first
            assert await time.text_content() == shown
            assert await time.get_attribute("title") == hover
            assert await time.get_attribute("datetime") == "2026-03-01T12:00:00+00:00"


async def test_theme_and_time_zone_are_as_a_person_chose_them(
    base: str, alice: Visitor
) -> None:
    """In guides too, which know nobody."""
    paper = "getComputedStyle(document.body).backgroundColor"
    async with chromium() as browser:
        context = await browser.new_context(
            color_scheme="light", timezone_id="Europe/Berlin"
        )
        screen = await Screen.opened(context, base)
        page = screen.page
        await screen.sign_in("alice@example.org")
        await screen.go("/app/account")
        light = await page.evaluate(paper)
        await page.select_option("#theme", "dark")
        await page.select_option("#time_zone", "Asia/Kolkata")
        await page.click("form[action='/app/account/display'] button")
        await page.wait_for_url("**/account?done=display")
        dark = await page.evaluate(paper)
        assert dark != light
        assert await screen.faults() == []
        await screen.go(f"{alice.root}/team")
        assert await page.locator("main time").first.text_content() == (
            "2026-03-01 17:30"
        )
        assert await page.inner_text("[data-zone-name]") == "Asia/Kolkata"
        await screen.go("/app/account")
        assert await page.input_value("#theme") == "dark"
        await context.clear_cookies()
        await screen.go("/app/sign-in")

        async def is_dark() -> bool:
            return bool(await page.evaluate(paper) == dark)

        await until(is_dark)
    assert screen.complaints == []


async def test_on_a_phone_a_channel_is_priced_as_its_capacity_is_typed(
    base: str, alice: Visitor
) -> None:
    async with chromium() as browser:
        size: ViewportSize = {"width": 360, "height": 740}
        screen = await Screen.opened(await browser.new_context(viewport=size), base)
        page = screen.page
        await screen.sign_in("alice@example.org")
        await screen.go(f"{alice.root}/channels/new?for=")
        field = page.locator("#capacity")
        await field.fill("")
        await field.press_sequentially("4200000")
        assert await field.input_value() == "4,200,000"
        await page.wait_for_selector("#quote dd:has-text('5,200 sat')")  # our own fee
        await field.press("ArrowLeft")
        await field.press("ArrowLeft")
        await field.press("Backspace")
        assert await field.input_value() == "420,000"
        await field.press_sequentially("7")
        assert await field.input_value() == "4,200,700"  # where the caret was
        price = await page.locator("#quote").bounding_box()
        button = await page.locator("button:has-text('Place order')").bounding_box()
        assert price is not None
        assert button is not None
        assert price["y"] + price["height"] <= button["y"]
        assert not await screen.is_wider_than_its_window()
    assert screen.complaints == []


async def test_a_form_that_is_refused_leads_to_the_field_that_was_wrong(
    base: str, alice: Visitor
) -> None:
    async with chromium() as browser:
        screen = await Screen.opened(await browser.new_context(), base)
        page = screen.page
        await screen.sign_in("alice@example.org")
        await screen.go(f"{alice.root}/nodes/new")
        for field, value in (
            ("#whitelist", "10.0.0.0/33"),
            ("#f-minchansize", "seven"),
        ):
            await page.fill("#name", "morning light")
            if not await page.is_visible(field):
                await page.click("summary:has-text('More settings')")
            before = await page.input_value(field)
            await page.fill(field, value)
            await page.press("#name", "Enter")
            await page.wait_for_selector(f"{field}[aria-invalid=true]:focus")
            described = await page.get_attribute(field, "aria-describedby")
            assert described == f"refused h-{field[1:].removeprefix('f-')}"
            assert await page.is_visible("#refused")
            await page.fill(field, before)


async def test_a_question_is_a_dialog_that_keys_alone_answer(
    base: str, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running(organization_id=alice.organization_id)
    async with chromium() as browser:
        context = await browser.new_context()
        screen = await Screen.opened(context, base)
        page, here = screen.page, f"{alice.root}/nodes/{node.id}"
        await screen.sign_in("alice@example.org")
        await screen.go(here)

        async def ask(name: str) -> None:
            await page.focus(f"a[href='{here}/{name}']")
            await page.keyboard.press("Enter")
            await page.wait_for_selector("dialog[open]")

        await ask("stop")
        assert await page.evaluate("document.activeElement.textContent") == "Cancel"
        assert await screen.grave_faults() == []
        for _ in range(5):  # the keyboard stays in it
            await page.keyboard.press("Tab")
            inside = "!document.hasFocus() || document.activeElement === document.body"
            inside += " || !!document.activeElement.closest('dialog')"
            assert await page.evaluate(inside)
        await page.keyboard.press("Escape")
        await page.wait_for_selector("dialog", state="detached")
        assert await page.evaluate("document.activeElement.textContent") == "Stop"
        await ask("stop")
        await page.keyboard.press("Enter")  # on Cancel
        await page.wait_for_selector("dialog", state="detached")
        assert page.url == f"{base}{here}"

        await ask("delete")
        assert await page.evaluate("document.activeElement.id") == "typed"
        await page.keyboard.type("harbour")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("[role=alert]:has-text('Nothing was deleted')")
        await screen.go(here)

        await ask("stop")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("text=The node is stopping.")
        await fleet_harness.work()
        await fleet_harness.settled()
        await page.wait_for_selector("text=This node is stopped.")
        assert await page.locator("text=The node is stopping.").count() == 0
        assert await page.locator(f"a[href='{here}/stop']").count() == 0
        await page.click("button:has-text('Start node')")
        await page.wait_for_selector("text=The node is starting.")
        await page.reload()
        assert await page.locator("text=The node is starting.").count() == 0
    assert [each for each in screen.complaints if "400" not in each] == []


async def test_every_dialog_is_opened_and_left_by_keys_alone(
    base: str, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.running(organization_id=alice.organization_id)
    here, opened = f"{alice.root}/nodes/{node.id}", 0
    await alice.get(f"{here}/webhook")
    await alice.submit(f"{here}/webhook", {"webhook": "https://hooks.example/"})
    key = {"name": "backend", "scope": "node", "once": str(uuid.uuid4())}
    assert (await alice.submit(f"{alice.root}/keys", key)).status == 200
    await alice.get(f"{alice.root}/team")
    invited = {"email": "d@example.org", "role": "viewer"}
    await alice.submit(f"{alice.root}/team/invite", invited)
    async with chromium() as browser:
        screen = await Screen.opened(await browser.new_context(), base)
        page = screen.page
        await screen.sign_in("alice@example.org")
        links = page.locator("a[data-dialog]")
        for at in (here, f"{here}/webhook", f"{alice.root}/keys", f"{alice.root}/team"):
            await screen.go(at)
            for position in range(await links.count()):
                link = links.nth(position)
                await link.focus()
                await page.keyboard.press("Enter")
                await page.wait_for_selector("dialog[open] .danger")
                await page.keyboard.press("Escape")
                await page.wait_for_selector("dialog", state="detached")
                assert await link.evaluate("each => each === document.activeElement")
                opened += 1
    assert (
        opened >= 8
    )  # of the node four, of its webhook, a key, a member, an invitation
    assert screen.complaints == []
