"""Nodes as people see them: made, looked at, changed, deleted."""

import asyncio
import re
from html import unescape

from leyden.base.platform import Platform
from leyden.base.tasks.queues import CLAIM_FOR
from leyden.base.tasks.work import Work
from leyden.nodes.fleet import EVERYTHING, HOUSEKEEPING
from leyden.nodes.housekeeping import Housekeeping
from leyden.nodes.rules.observations import LndState
from leyden.nodes.rules.samples import SAMPLE_INTERVAL
from leyden.nodes.runtimes.base import Usage
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness

FOREIGN = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66N"


async def made(
    visitor: Visitor, fleet_harness: FleetHarness, name: str = "harbour light"
) -> str:
    """Make a node as a person does; give the address of its page."""
    answer = await visitor.submit(f"{visitor.root}/nodes/new", filled(name))
    assert answer.status == 303, answer.text
    await fleet_harness.work()
    return answer.location


def filled(name: str = "harbour light", **changes: str) -> dict[str, str]:
    return {
        "once": "7b0c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55",
        "name": name,
        "network": "testnet",
        "type": "standard",
        "version": "v0.20.1-beta",
        "whitelist": "198.51.100.7, 203.0.113.0/24",
        "alias": "harbour light",
        "color": "#ff9900",
        "rest": "yes",
        "keysend": "yes",
        **changes,
    }


def fact(page: str, name: str) -> str:
    """Return a figure of a node's page."""
    found = re.search(rf"<dt>{name}</dt><dd>(.*?)</dd>", page)
    assert found, name
    return found[1]


async def test_a_figure_that_is_not_known_is_not_shown_as_0(
    alice: Visitor, fleet_harness: FleetHarness, platform: Platform
) -> None:
    page = await made(alice, fleet_harness)
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.node_files.used[node.id] = Usage(memory=94_371_840, cpu_cores=0.125)
    shown = (await alice.get(f"{page}/machine")).text
    assert fact(shown, "Memory") == "90.0 MiB"
    assert fact(shown, "Processor") == "12.5 % of a core"
    assert fact(shown, "Disk") == "\N{EM DASH}"
    assert fact(shown, "Traffic in") == "0 B"
    fleet_harness.node_files.used[node.id] = Usage()
    fleet_harness.gateway.is_elsewhere = True
    for _ in range(2):
        await platform.samples.take(fleet_harness.fleet)
        fleet_harness.now += SAMPLE_INTERVAL
    shown = (await alice.get(f"{page}/machine")).text
    names = ("Memory", "Processor", "Disk", "Connections so far", "Traffic in")
    assert {fact(shown, each) for each in (*names, "Traffic out")} == {"\N{EM DASH}"}
    assert "No usage data for this node." in shown
    assert "<figure" not in shown


async def test_a_node_is_made_with_what_was_filled_in(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    form = await alice.get(f"{alice.root}/nodes/new")
    assert ">198.51.100.7</textarea>" in form.text  # where she is
    page = await made(alice, fleet_harness)
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert (node.name, str(node.version)) == ("harbour light", "v0.20.1-beta")
    assert node.settings.whitelist == ("198.51.100.7", "203.0.113.0/24")
    assert (node.settings.rest, node.settings.grpc) == (True, False)
    assert (node.settings.wumbo, node.settings.keysend) == (False, True)
    shown = await alice.get(page)
    assert "Create a wallet to finish setup." in shown.text
    assert f'class="button" href="{page}/wallet/initialise"' in shown.text
    assert f"{node.api_endpoint}:8080" in shown.text
    assert "<svg" in shown.text
    assert "can read its keys and spend its coins" in shown.text
    assert 'href="/docs/security#what-you-trust"' in shown.text


async def test_sent_twice_it_is_made_once(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    first = await made(alice, fleet_harness)
    assert await made(alice, fleet_harness) == first
    assert len(await fleet_harness.fleet.database.reader.nodes.all_()) == 1


async def test_what_is_wrong_is_said_and_nothing_that_was_typed_is_lost(
    alice: Visitor,
) -> None:
    shown = await alice.submit(
        f"{alice.root}/nodes/new",
        filled(whitelist="not an address", alias="<b>light</b>", minchansize="30000"),
    )
    assert shown.status == 400
    assert 'role="alert">whitelist' in shown.text
    assert ">not an address</textarea>" in shown.text
    assert 'value="&lt;b&gt;light&lt;/b&gt;"' in shown.text
    assert 'value="30000"' in shown.text
    assert 'name="once" value="7b0c3d1e' in shown.text
    for changes in ({"network": "moon"}, {"type": "huge"}, {"once": "x"}):
        refused = await alice.submit(f"{alice.root}/nodes/new", filled(**changes))
        assert refused.status == 400


async def test_settings_change_only_where_the_form_was_changed(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = f"{await made(alice, fleet_harness)}/settings"
    first, second = await alice.get(page), await alice.get(page)
    answer = await alice.submit(page, fields(first.text) | {"alias": "new light"})
    assert answer.location == f"{page}?done=restarting"
    # Another tab, which still shows the old alias, changes something else.
    await alice.submit(page, fields(second.text) | {"basefee": "500"})
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert (node.settings.alias, node.settings.basefee) == ("new light", "500")
    shown = await alice.get(answer.location)
    assert "its wallet is locked until you unlock it" in shown.text


async def test_a_wrong_setting_keeps_what_was_typed(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = f"{await made(alice, fleet_harness)}/settings"
    form = fields((await alice.get(page)).text)
    shown = await alice.submit(page, form | {"alias": "a" * 33, "basefee": "7"})
    assert shown.status == 400
    assert "alias: must have 1 to 32 bytes" in shown.text
    assert 'value="7"' in shown.text
    again = await alice.submit(page, fields(shown.text) | {"alias": "short"})
    assert again.status == 303
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert (node.settings.alias, node.settings.basefee) == ("short", "7")


async def test_the_whitelist_changes_without_a_restart(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = f"{await made(alice, fleet_harness)}/whitelist"
    answer = await alice.submit(page, {"whitelist": "203.0.113.9\n\n 2001:db8::/32"})
    assert answer.location == f"{page}?done=saved"
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert node.settings.whitelist == ("203.0.113.9", "2001:db8::/32")
    assert node.status == "waiting_init"
    refused = await alice.submit(page, {"whitelist": "fe80::1%eth0"})
    assert refused.status == 400
    assert "fe80::1%eth0" in refused.text


async def test_addresses_that_are_allowed_at_once_are_all_allowed(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = f"{await made(alice, fleet_harness)}/whitelist"
    addresses = [f"192.0.2.{number}" for number in range(1, 6)]
    await alice.get(page)
    await asyncio.gather(*(alice.at(each).submit(f"{page}/mine") for each in addresses))
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert set(addresses) <= set(node.settings.whitelist)


async def test_a_whitelist_without_ones_own_address_warns(
    alice: Visitor, bob: Visitor, fleet_harness: FleetHarness
) -> None:
    page = f"{await made(alice, fleet_harness)}/whitelist"
    warning = "Your own IP address <code>198.51.100.7</code> is not allowed."
    assert warning not in (await alice.get(page)).text
    saved = await alice.submit(page, {"whitelist": "203.0.113.9"})
    assert warning in (await alice.get(saved.location)).text
    assert warning not in (await bob.get(page)).text  # who could not change it
    # Another tab adds one meanwhile: it stays.
    await alice.submit(page, {"whitelist": "203.0.113.9, 192.0.2.0/24"})
    assert (await alice.submit(f"{page}/mine")).location == f"{page}?done=saved"
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert node.settings.whitelist == ("203.0.113.9", "192.0.2.0/24", "198.51.100.7")
    assert warning not in (await alice.get(page)).text
    empty = await alice.submit(page, {"whitelist": ""})
    shown = (await alice.get(empty.location)).text
    assert "The list is empty: nobody can reach the node." in shown
    assert (await bob.submit(f"{page}/mine")).status == 403


async def test_commands_are_buttons_where_the_state_allows_them(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    shown = await alice.get(page)
    assert f'href="{page}/stop"' in shown.text
    assert f'action="{page}/start"' not in shown.text
    assert (await alice.submit(f"{page}/start")).status == 409
    assert (await alice.submit(f"{page}/stop")).location == f"{page}?done=stop"
    await fleet_harness.work()
    await fleet_harness.settled()
    stopped = (await alice.get(page)).text
    assert f'action="{page}/start"' in stopped
    assert f'href="{page}/stop"' not in stopped
    assert f'href="{page}/restart"' not in stopped


async def test_an_update_says_what_it_takes_away(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    assert "Update to v0.20.2-beta" not in (await alice.get(page)).text  # first things
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    shown = await alice.get(page)
    assert "Update to v0.20.2-beta" in shown.text
    assert "POST /v1/channels/transactions: pay through" in shown.text
    answer = await alice.submit(f"{page}/update", {"version": "v0.20.2-beta"})
    assert answer.location == f"{page}?done=update"
    refused = await alice.submit(f"{page}/update", {"version": "v0.18.5-beta"})
    assert refused.status == 400


async def test_a_node_is_deleted_by_typing_its_name(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    refused = await alice.submit(f"{page}/delete", {"name": "harbour"})
    assert refused.status == 400
    assert "Nothing was deleted" in refused.text
    gone = await alice.submit(f"{page}/delete", {"name": "harbour light"})
    assert gone.location == f"{alice.root}/nodes?deleted={page.rpartition('/')[2]}"


async def test_the_log_is_shown_as_text(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.node_files.logs[node.id] = ["[INF] <script>alert(1)</script>"]
    shown = await alice.get(f"{page}/log")
    assert "[INF] &lt;script&gt;alert(1)&lt;/script&gt;" in shown.text
    assert "<script>alert" not in shown.text


async def test_files_to_take_along(alice: Visitor, fleet_harness: FleetHarness) -> None:
    page = await made(alice, fleet_harness)
    certificate = await alice.get(f"{page}/certificate")
    assert certificate.text.startswith("-----BEGIN CERTIFICATE-----")
    assert "attachment" in certificate.header("content-disposition")
    authority = await alice.get("/app/authority.pem")
    assert authority.text.strip() in certificate.text
    assert (await alice.get(f"{page}/backups/channels")).status == 404
    assert "No seed is stored" in (await alice.get(f"{page}/backups")).text


async def test_whoever_only_looks_changes_nothing(
    alice: Visitor, bob: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    shown = await bob.get(page)
    assert shown.status == 200
    assert "<form" not in shown.text.split("<main")[1]
    assert "data-dialog" not in shown.text
    assert "As viewer you can view this node, but not change it." in shown.text
    for path in ("/stop", "/restart", "/update", "/delete", "/settings", "/whitelist"):
        refused = await bob.submit(f"{page}{path}", {"name": "harbour light"})
        assert refused.status == 403
        assert "Your role, viewer, can view this but not change it." in refused.text
    assert (await bob.get(f"{bob.root}/nodes/new")).status == 403
    assert "webhook_secret" not in (await bob.get(f"{page}/settings")).text


async def test_another_team_finds_nothing_of_it(
    alice: Visitor, charlie: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    node_id = page.rpartition("/")[2]
    elsewhere = await charlie.get(page)
    nowhere = await charlie.get(page.replace(alice.organization_id, FOREIGN))
    assert (elsewhere.status, elsewhere.text) == (404, nowhere.text)
    missing = await charlie.get(f"{charlie.root}/nodes/{FOREIGN}")
    for path in (
        f"{charlie.root}/nodes/{node_id}",
        f"{charlie.root}/nodes/{node_id}/settings",
        f"{charlie.root}/nodes/{node_id}/whitelist",
        f"{charlie.root}/nodes/{node_id}/log",
        f"{charlie.root}/nodes/{node_id}/certificate",
        f"{charlie.root}/nodes/{node_id}/backups",
        f"{charlie.root}/nodes/{node_id}/backups/channels",
        f"{charlie.root}/nodes/{node_id}/changes",
    ):
        shown = await charlie.get(path)
        assert (shown.status, shown.text) == (404, missing.text), path
    for command in ("stop", "restart", "update", "delete", "settings", "whitelist"):
        shown = await charlie.submit(
            f"{charlie.root}/nodes/{node_id}/{command}",
            {"name": "harbour light", "alias": "mine", "was-alias": ""},
        )
        assert shown.status == 404, command


async def test_a_long_list_comes_in_pages(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    for number in range(103):
        await fleet_harness.create(
            f"light {number}", organization_id=alice.organization_id
        )
    first = await alice.get(f"{alice.root}/nodes")
    assert first.text.count("<tr>") == 101
    assert "103 nodes" in first.text
    second = await alice.get(f"{alice.root}/nodes?page=2")
    names = set(re.findall(r">(light \d+)</a>", first.text + second.text))
    assert names == {f"light {number}" for number in range(103)}
    assert second.text.count("<tr>") == 4
    assert (await alice.get(f"{alice.root}/nodes?page=99")).text.count("<tr>") == 4
    assert (await alice.get(f"{alice.root}/nodes?page=-1")).status == 400


def fields(text: str) -> dict[str, str]:
    """Return what a browser would send with the last form of a page."""
    form = text.rsplit("<form", maxsplit=1)[-1]
    found = {}
    for tag in re.findall(r"<input [^>]*>", form):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if attributes.get("type") != "checkbox" or " checked" in tag:
            found[attributes["name"]] = unescape(attributes.get("value", ""))
    for name, value in re.findall(
        r'<textarea [^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', form, re.DOTALL
    ):
        found[name] = unescape(value)
    return found


async def test_an_owner_is_told_of_macaroons_that_lay_in_clear(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    assert "wrote" not in (await alice.get(page)).text
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.node_files.macaroons[node.id] = (
        "data/admin.macaroon",
        "data/readonly.macaroon",
    )
    async with fleet_harness.fleet.database.transaction() as tx:
        await tx.tasks.put(HOUSEKEEPING, EVERYTHING, due=fleet_harness.now)
        (claim,) = await tx.tasks.claim(
            HOUSEKEEPING,
            now=fleet_harness.now,
            until=fleet_harness.now + CLAIM_FOR,
            limit=1,
        )
    await Housekeeping(fleet_harness.fleet).run(
        Work(fleet_harness.fleet.database, claim)
    )
    assert not fleet_harness.node_files.macaroons
    shown = (await alice.get(page)).text
    assert "lnd wrote 2 macaroons to this platform" in shown
    assert "stateless_init" in shown


async def test_why_a_node_could_not_be_started_is_on_its_page(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    fleet_harness.runtime.fails_after = "nothing"
    page = await made(alice, fleet_harness)
    shown = (await alice.get(page)).text
    assert "This node could not be started.</strong> The disk of the node" in shown
