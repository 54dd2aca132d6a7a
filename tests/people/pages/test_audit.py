"""Owners read who changed what in their organization, and no more than that."""

import base64
import re
from datetime import timedelta

from leyden.app.serving.site import Site
from leyden.base.database.statements import Statement
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.channels.money import corrections
from leyden.channels.money.corrections import Correction
from leyden.nodes import failures
from leyden.nodes.rules import node_settings
from leyden.people import activity
from tests.base.pages.conftest import person
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import SETTINGS, FleetHarness

CERTIFICATE = (
    "-----BEGIN CERTIFICATE-----\n"
    + base64.b64encode(b"\x30\x82" + bytes(62)).decode()
    + "\n-----END CERTIFICATE-----\n"
)


def rows(text: str, action: str) -> list[str]:
    """Return the entries of an action as people read them."""
    found = re.findall(r"<tr>(.*?)</tr>", text.partition("<tbody>")[2], re.DOTALL)
    read = [" ".join(re.sub(r"<[^>]+>", " ", each).split()) for each in found]
    return [each for each in read if action in each]


async def test_a_change_is_listed_with_its_old_and_new_value(
    alice: Visitor, platform: Platform, site: Site
) -> None:
    team = alice.organization_id
    await person(platform, site, "dora", team, Role.VIEWER)
    dora = await platform.database.reader.accounts.find_person("dora@example.org")
    assert dora is not None
    await alice.submit(f"{alice.root}/team/role", {"user": dora.id, "role": "billing"})
    (row,) = rows((await alice.get(f"{alice.root}/audit")).text, "Role changed")
    assert row.endswith(
        "alice@example.org Role changed dora@example.org role: viewer → billing"
    )


async def test_secrets_are_masked(alice: Visitor, fleet_harness: FleetHarness) -> None:
    node = await fleet_harness.create(organization_id=alice.organization_id)
    secret = "0201036c6e6402" + "ab" * 40
    await fleet_harness.set(
        node,
        alias="far light",
        remotesigningmacaroon=secret,
        remotesigningcert=CERTIFICATE,
    )
    text = (await alice.get(f"{alice.root}/audit")).text
    assert secret not in text
    assert "CERTIFICATE" not in text
    (row,) = rows(text, "Node settings")
    assert row.startswith("2026-03-01 12:00 UTC API key 7 Node settings harbour light")
    assert f"alias: {SETTINGS['alias']} → far light" in row
    assert "remotesigningmacaroon: none → ********" in row
    assert "remotesigningcert: none → ********" in row


async def test_of_a_webhook_scheme_and_host_are_written(
    alice: Visitor, fleet_harness: FleetHarness, platform: Platform
) -> None:
    node = await fleet_harness.create(organization_id=alice.organization_id)
    before, after = (
        "https://hooks.example/T0/s3cret",
        "https://hooks.example:8443/?k=t0ken",
    )
    for url in (before, after, ""):
        fleet_harness.now += timedelta(seconds=1)
        await fleet_harness.set(node, webhook=url)
    read = rows((await alice.get(f"{alice.root}/audit")).text, "Node settings")
    assert [each.partition("webhook: ")[2] for each in read] == [
        "https://hooks.example:8443/… → none",
        "https://hooks.example/… → https://hooks.example:8443/…",
        "none → https://hooks.example/…",
    ]
    async with platform.database.transaction() as tx:
        written = str(await tx.audit._run(Statement("SELECT detail FROM audit")))
    assert "hooks.example/…" in written
    assert "s3cret" not in written
    assert "t0ken" not in written
    assert "s3cret" not in repr(node_settings.parse({**SETTINGS, "webhook": before}))


async def test_what_was_once_written_in_full_is_masked(
    alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    async with platform.database.transaction() as tx:
        await tx.audit.add(
            at=fleet_harness.now,
            actor="operator:test",
            action="node settings",
            subject="lamp",
            organization_id=alice.organization_id,
            changes={
                "webhook": ("https://hooks.example/s3cret", "https://b.example/s3cret"),
                "remotesigningcert": (CERTIFICATE, ""),
            },
        )
    (row,) = rows((await alice.get(f"{alice.root}/audit")).text, "Node settings")
    assert row.endswith(
        "webhook: https://hooks.example/… → https://b.example/… "
        "remotesigningcert: ******** → none"
    )
    (line, *_) = await platform.database.reader.audit.latest()
    assert "s3cret" not in str(line.detail)
    assert "CERTIFICATE" not in str(line.detail)


async def test_only_owners_and_admins_read_it(
    alice: Visitor, bob: Visitor, charlie: Visitor
) -> None:
    assert (await alice.get(f"{alice.root}/audit")).status == 200
    assert (await bob.get(f"{alice.root}/audit")).status == 403
    assert (await charlie.get(f"{alice.root}/audit")).status == 404
    assert "Audit log" in (await alice.get(f"{alice.root}/nodes")).text
    assert "Audit log" not in (await bob.get(f"{alice.root}/nodes")).text


async def test_what_is_written_for_operators_stays_with_them(
    alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.create("pier", organization_id=alice.organization_id)
    async with platform.database.transaction() as tx:
        error = OSError("/srv/secret/path")
        reason = failures.reason_of(error)
        await failures.note(
            tx, node, reason=reason, why=str(error), now=fleet_harness.now
        )
    await corrections.correct(
        platform.database,
        alice.organization_id,
        Correction.CREDIT,
        sats=100,
        reason="between ourselves",
        actor="operator:mallory",
        key="once",
        now=fleet_harness.now,
    )
    text = (await alice.get(f"{alice.root}/audit")).text
    assert "lnd could not start." in text
    for hidden in ("/srv/secret", "between ourselves", "mallory"):
        assert hidden not in text


async def test_all_entries_are_found_page_by_page(
    alice: Visitor, platform: Platform, fleet_harness: FleetHarness
) -> None:
    many = 2 * activity.LIMIT + 3
    async with platform.database.transaction() as tx:
        for number in range(many):  # all at one time: the order is theirs all the same
            await tx.audit.add(
                at=fleet_harness.now,
                actor="operator:test",
                action=f"lit {number}",
                subject="lamp",
                organization_id=alice.organization_id,
            )
    lines: list[str] = []
    path = f"{alice.root}/audit"
    while path:
        text = (await alice.get(path)).text
        lines += re.findall(r"Lit (\d+)<", text)
        more = re.search(r'href="(\?after=[^"]+)">Older', text)
        path = f"{alice.root}/audit{more[1]}" if more else ""
    assert sorted(map(int, lines)) == list(range(many))
    assert (await alice.get(f"{alice.root}/audit?after=x.y")).status == 400
