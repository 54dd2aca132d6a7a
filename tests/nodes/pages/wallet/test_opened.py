"""What an opened vault leaves in the browser: little, and not for long."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.bakery import READER, baked, identifier
from tests.nodes.pages.wallet.conftest import Modular
from tests.nodes.pages.wallet.sealing import seal_jwe

pytestmark = pytest.mark.asyncio(loop_scope="session")

OPENED = """async (modules, node, token, work) => {
    const { Opened } = await modules("opened");
    const opened = new Opened(node, token);
    if (work === "find") return (await opened.find()) ?? null;
    if (work === "keep") opened.keep("0201");
    if (work === "keep a moment") {
        await new Promise((resolve) => {
            opened.onlock = resolve;
            opened.keep("0201", 1);
            setTimeout(resolve, 5_000);
        });
    }
    if (work === "sign out") {
        await new Promise((resolve) => {
            opened.onlock = resolve;
            opened.keep("0201");
            opened.find().then(() => {
                new BroadcastChannel("signed out").postMessage("");
            });
        });
    }
    if (work === "look on") {
        opened.keep("0201");
        const other = new Opened(node, token);
        const locked = new Promise((resolve) => { opened.onlock = resolve; });
        other.lock();
        await locked;
        opened.renew("0201", 60_000);
        return (await opened.find()) ?? null;
    }
    if (work === "lock without a worker") {
        opened.keep("0201");
        opened.port.close();
        return await new Promise((resolve) => {
            opened.onlock = () => resolve(opened.locks);
            opened.lock();
            setTimeout(resolve, 1_000, null);
        });
    }
    if (work === "lock") {
        await new Promise((resolve) => { opened.onlock = resolve; opened.lock(); });
    }
}"""


STORED = "({...localStorage, ...sessionStorage})"


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, modules_url: str) -> AsyncIterator[Page]:
    page = await browser.new_page()
    await page.goto(modules_url)
    yield page
    await page.close()


async def test_the_next_page_of_the_session_finds_the_macaroon(
    page: Page, modules_url: str
) -> None:
    await Modular(page).run(OPENED, "harbour", "session", "keep")
    await page.goto(modules_url)
    assert await Modular(page).run(OPENED, "harbour", "session", "find") == "0201"
    for node, session in (("harbour", "another"), ("pier", "session")):
        assert await Modular(page).run(OPENED, node, session, "find") is None
    assert await page.evaluate(STORED) == {"vault": "open"}, "and what, is not stored"


@pytest.mark.parametrize("how", ["lock", "sign out"])
async def test_nothing_is_found_after_it_was_locked(
    page: Page, modules_url: str, how: str
) -> None:
    await Modular(page).run(OPENED, "harbour", "session", "keep")
    await Modular(page).run(OPENED, "harbour", "session", how)
    assert await page.evaluate(STORED) == {}
    await page.goto(modules_url)
    async with asyncio.timeout(5):  # of a sign-out the worker hears when it likes
        while await Modular(page).run(OPENED, "harbour", "session", "find"):
            assert how == "sign out"


async def test_who_goes_on_looking_brings_nothing_back(page: Page) -> None:
    assert await Modular(page).run(OPENED, "mole", "session", "look on") is None


async def test_a_page_is_locked_although_its_worker_is_dead(page: Page) -> None:
    assert await Modular(page).run(OPENED, "mole", "s", "lock without a worker") == 1
    assert await page.evaluate(STORED) == {}


async def test_what_nobody_looks_at_is_forgotten(page: Page) -> None:
    await Modular(page).run(OPENED, "pier", "session", "keep a moment")
    assert await Modular(page).run(OPENED, "pier", "session", "find") is None


async def test_of_an_admin_macaroon_stays_one_that_spends_nothing(js: Modular) -> None:
    admin = identifier("0", ("macaroon", "generate"), ("offchain", "write"))
    printed = await js.run(
        """async (modules, admin, reader) => {
            const { looking } = await modules("opened");
            const asked = [];
            const bake = async (...given) => { asked.push(given); return reader; };
            asked.push(await looking({ bake }, admin, new Date(0)));
            return asked;
        }""",
        baked(admin).hex(),
        baked(READER).hex(),
    )
    (by, permissions, root_key), stored = printed
    assert (by, root_key) == (baked(admin).hex(), "0")
    assert {each["action"] for each in permissions} == {
        "read",
        "/lnrpc.Lightning/AddInvoice",
        "/lnrpc.Lightning/NewAddress",
    }
    assert stored == baked(READER, "time-before 1970-01-01T12:00:00Z").hex()


async def test_what_is_kept_ends_the_same_day(js: Modular) -> None:
    narrowed = await js.run(
        """async (modules, macaroon) => {
            const { looking } = await modules("opened");
            return looking(undefined, macaroon, new Date("2026-03-01T00:00:00.123Z"));
        }""",
        baked(READER).hex(),
    )
    assert narrowed == baked(READER, "time-before 2026-03-01T12:00:00Z").hex()


SPENDS = identifier("1", ("info", "read"), ("offchain", "write"))
CALLS = identifier("1", ("uri", "/lnrpc.Lightning/SendPaymentSync"))
ADMIN = identifier("0", ("macaroon", "generate"), ("offchain", "write"))
PASSWORD, ANOTHER = "a lamp in the harbour", "another lamp"


@pytest.mark.parametrize("known", [SPENDS, CALLS], ids=["spends", "calls"])
async def test_a_macaroon_that_can_do_more_than_read_is_refused(
    js: Modular, known: bytes
) -> None:
    refused = await js.call("opened", "looking", None, baked(known).hex(), None)
    assert refused == {
        "trouble": "form",
        "says": "This macaroon can do more than read. "
        "Use the admin macaroon, or a read-only one.",
    }


@pytest.mark.parametrize(
    ("vault", "chosen"),
    [
        ({"zeus": SPENDS, "till": READER}, READER),
        ({"read-only": SPENDS, "keys": ADMIN}, ADMIN),
        ({"admin": ADMIN, "read-only": READER}, ADMIN),
        ({"admin": READER, "zeus": SPENDS}, READER),
        ({"zeus": SPENDS}, SPENDS),
    ],
    ids=["unnamed", "misnamed", "both", "narrow", "none"],
)
async def test_a_macaroon_of_the_vault_is_taken_for_what_it_may(
    js: Modular, vault: dict[str, bytes], chosen: bytes
) -> None:
    assert await _of_vault(js, vault) == baked(chosen).hex()


async def test_what_another_password_opens_is_passed_over(js: Modular) -> None:
    vault = {"admin": ADMIN, "till": READER}
    assert await _of_vault(js, vault, admin=ANOTHER) == baked(READER).hex()
    wrong = await _of_vault(js, vault, admin=ANOTHER, till=ANOTHER)
    assert wrong == "password"
    assert await _of_vault(js, {}) == "form"


async def _of_vault(js: Modular, vault: dict[str, bytes], **under: str) -> str:
    backups = []
    for name, known in vault.items():
        about = {"node": "harbour", "kind": "macaroon", "name": name}
        value = seal_jwe(baked(known).hex(), under.get(name, PASSWORD), about)
        backups.append({"kind": "macaroon", "name": name, "value": value})
    found: str = await js.run(
        """async (modules, backups, password) => {
            const { ofVault } = await modules("opened");
            const platform = { backups: async () => backups };
            try {
                return await ofVault({ node: "harbour", platform }, password);
            } catch (error) {
                return error.kind;
            }
        }""",
        backups,
        PASSWORD,
    )
    return found
