"""The macaroons of a node, as the page lists, tests and revokes them."""

import base64

from leyden.app.serving.site import Site
from tests.bakery import REFUSED, baked, identifier
from tests.base.pages.screen import NARROW
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import PASSWORD, NodePages, Refusal, node_pages
from tests.nodes.pages.wallet.sealing import seal_jwe
from tests.programs import needs

pytestmark = needs("chromium")

TILL = identifier("7", ("invoices", "read"), ("invoices", "write"))
DOOR = identifier("8", ("info", "read"))


class CheckRefusal(Refusal):
    """What lnd says of a macaroon that it checked."""

    __slots__ = ()
    code = 3


async def keep(pages: NodePages, alice: Visitor, name: str, macaroon: bytes) -> None:
    about = {"node": pages.node.rpartition("/")[2], "kind": "macaroon", "name": name}
    value = seal_jwe(macaroon.hex(), PASSWORD, about)
    fields = {"kind": "macaroon", "name": name, "value": value}
    await alice.get(f"{pages.node}/wallet/vault")
    assert (await alice.submit(f"{pages.node}/wallet/backups", fields)).status == 200


async def rows(pages: NodePages) -> dict[str, dict[str, str]]:
    """Return what the list says, by application and column."""
    found: dict[str, dict[str, str]] = await pages.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("#macaroons tr")].map(
            (row) => [row.cells[0].innerText, Object.fromEntries(
                [...row.querySelectorAll("[data-of]")].map(
                    (cell) => [cell.dataset.of, cell.innerText]))]))"""
    )
    return found


async def opened(pages: NodePages, ids: list[str]) -> None:
    pages.lnd.answers["GET /v1/macaroon/ids"] = {"root_key_ids": ids}
    await pages.screen.go(f"{pages.node}/wallet/bakery")
    await pages.page.fill("#password", PASSWORD)
    await pages.press("Open vault")
    await pages.see("Macaroons of this node")


async def press_test(pages: NodePages, name: str) -> str:
    """Test a macaroon; return what its row says then."""
    await pages.press(f"Test {name}")
    await pages.page.wait_for_selector("#wallet:not([aria-busy])")
    return (await rows(pages))[name]["Last test"]


async def test_macaroons_have_the_time_at_which_they_were_stored(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    chosen = {"theme": "", "time_zone": "Asia/Tokyo"}
    await alice.submit("/app/account/display", chosen)
    async with node_pages(site, alice, fleet_harness) as pages:
        await keep(pages, alice, "till", baked(TILL))
        await opened(pages, ["0", "7", "9"])
        listed = await rows(pages)
        assert list(listed) == ["admin", "till", "Not in the vault"]
        for name in ("admin", "till"):
            assert listed[name]["Created"].startswith("Mar 1, 2026, 9:00")
            assert listed[name]["Last test"] == "Not tested"
        assert listed["Not in the vault"] == {
            **dict.fromkeys(("Permissions", "Created"), "Unknown"),
            **dict.fromkeys(("Expires", "Last test"), "Unknown"),
            "Root key": "9",
        }


async def test_a_macaroon_of_the_vault_is_tested_by_the_node(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(
        site, alice, fleet_harness, size=NARROW, scheme="dark"
    ) as pages:
        lnd = pages.lnd
        await keep(pages, alice, "till", baked(TILL))
        await keep(pages, alice, "door", baked(DOOR))
        await opened(pages, ["0", "7", "8"])
        lnd.answers["POST /v1/macaroon/checkpermissions"] = {"valid": True}
        assert (await press_test(pages, "till")).startswith("Works, ")
        (asked,) = lnd.asked("POST /v1/macaroon/checkpermissions")
        assert base64.b64decode(asked["macaroon"]) == baked(TILL)
        assert asked["permissions"] == [
            {"entity": "invoices", "action": "read"},
            {"entity": "invoices", "action": "write"},
        ]
        assert (await rows(pages))["door"]["Last test"] == "Not tested"

        for state, meaning in (
            ("revoked", "it was revoked, or belongs to another node"),
            ("of another node", "it was revoked, or belongs to another node"),
            ("expired", "The macaroon has expired."),
            ("elsewhere", "not valid from the address that lnd sees"),
        ):
            refusal = CheckRefusal(REFUSED[state])
            lnd.answers["POST /v1/macaroon/checkpermissions"] = refusal
            said = await press_test(pages, "door")
            assert said.startswith("Fails, ")
            assert meaning in said
        assert await pages.screen.faults() == []

        # What says nothing of the macaroon leaves the last test as it was.
        locked = Refusal("wallet locked, unlock it to enable full RPC access")
        lnd.answers["POST /v1/macaroon/checkpermissions"] = locked
        assert (await press_test(pages, "till")).startswith("Works, ")
        assert "The wallet is locked" in await pages.alert()

        lnd.answers["DELETE /v1/macaroon/7"] = {"deleted": True}
        lnd.answers["GET /v1/macaroon/ids"] = {"root_key_ids": ["0", "8"]}
        await pages.press("Revoke till")
        await pages.page.click("#revoke")
        await pages.see("no longer works")
        listed = await rows(pages)
        assert list(listed) == ["admin", "door", "till"]
        assert listed["till"]["Root key"] == "7 (revoked)"
        assert listed["till"]["Last test"] == "Not tested"
        assert listed["door"]["Last test"].startswith("Fails, ")
        buttons = pages.page.locator("#macaroons tr", has_text="till")
        assert await buttons.get_by_role("button").all_inner_texts() == ["Test"]

        await opened(pages, ["0", "7", "8"])
        assert {each["Last test"] for each in (await rows(pages)).values()} == {
            "Not tested"
        }
