"""Pages of keys as the platform sees them: it shows them, and is given ciphertext."""

import json
import os
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from leyden.app.front import dashboard
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.people import accounts
from leyden.values import replace
from tests.base.pages.conftest import person
from tests.base.pages.visitor import HOST, Visitor
from tests.conftest import NOW
from tests.nodes.fleet_harness import SETTINGS, FleetHarness
from tests.nodes.rules.test_node_settings import SIGNER

PAGES = (
    *("initialise", "restore", "unlock", "password"),
    *("receive", "send", "payments", "channels", "bakery", "vault"),
)
WORDS = "abandon " * 23 + "art"


def ciphertext() -> str:
    return b64encode(b"Salted__" + os.urandom(88)).decode()


@pytest.fixture
async def path(alice: Visitor, fleet_harness: FleetHarness) -> str:
    """The path of a node of Alice's that waits for its wallet."""
    node = await fleet_harness.create(organization_id=alice.organization_id)
    await fleet_harness.work()
    path = f"{alice.root}/nodes/{node.id}/wallet"
    assert (await alice.get(f"{path}/vault")).status == 200
    return path


async def ask(visitor: Visitor, path: str) -> Any:
    return json.loads((await visitor.get(path)).text)


async def send(visitor: Visitor, path: str, **fields: str) -> tuple[int, Any]:
    shown = await visitor.submit(path, fields)
    return shown.status, json.loads(shown.text)


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_knows_the_node_and_can_send_nothing_by_itself(
    alice: Visitor, path: str, page: str
) -> None:
    shown = await alice.get(f"{path}/{page}")
    assert shown.status == 200
    assert f"wallet/pages/{page}.js" in shown.text
    assert 'data-url="https://harbour-light-' in shown.text
    _, _, below = shown.text.partition('<div id="wallet"')
    assert " name=" not in below, "a field with a name goes where its form goes"
    assert " action=" not in below
    assert "<button data-waits disabled>" in below


@pytest.mark.parametrize("page", ["send", "channels"])
async def test_seconds_of_a_payment_are_not_read_out_one_by_one(
    alice: Visitor, path: str, page: str
) -> None:
    text = (await alice.get(f"{path}/{page}")).text
    before, _, _ = text.partition('<span id="elapsed"')
    assert before.rpartition("<p ")[2].startswith('class="note" role="timer"')


async def test_a_node_with_a_signer_gets_no_seed_in_the_browser(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await fleet_harness.create(
        organization_id=alice.organization_id, settings={**SETTINGS, **SIGNER}
    )
    await fleet_harness.work()
    root = f"{alice.root}/nodes/{node.id}"
    for page in ("initialise", "restore"):
        shown = (await alice.get(f"{root}/wallet/{page}")).text
        assert "leyden wallet init &#39;harbour light&#39; " in shown
        assert "--watch-only accounts.json" in shown
        assert f"wallet/pages/{page}.js" not in shown
        assert '<div id="wallet"' not in shown
    assert "wallet/pages/vault.js" in (await alice.get(f"{root}/wallet/vault")).text
    assert "Your signer has this node's keys" in (await alice.get(root)).text


@pytest.mark.parametrize("page", [*PAGES, "facts", "backups"])
async def test_only_those_who_run_nodes_come_in(
    bob: Visitor, charlie: Visitor, nobody: Visitor, path: str, page: str
) -> None:
    assert (await bob.get(f"{path}/{page}")).status == 403
    assert (await charlie.get(f"{path}/{page}")).status == 404
    own = path.replace(path.split("/")[2], charlie.organization_id)
    assert (await charlie.get(f"{own}/{page}")).status == 404
    assert (await nobody.get(f"{path}/{page}")).status == 303


async def test_ciphertext_goes_there_and_back_and_under_another_password(
    alice: Visitor, path: str
) -> None:
    assert await ask(alice, f"{path}/backups") == {"backups": []}
    seed, admin = ciphertext(), ciphertext()
    keep = f"{path}/backups"
    assert await send(alice, keep, kind="seed", name="", value=seed) == (
        200,
        {"kept": 1},
    )
    assert (await send(alice, keep, kind="macaroon", name="a b", value=admin))[0] == 200
    assert await ask(alice, keep) == {
        "backups": [
            {"kind": "seed", "name": "", "value": seed},
            {
                "kind": "macaroon",
                "name": "a b",
                "value": admin,
                "created": "2026-03-01T12:00:00Z",
            },
        ]
    }
    status, refused = await send(alice, keep, kind="seed", name="", value=ciphertext())
    assert (status, list(refused)) == (409, ["message"])

    anew = [
        {
            "kind": kind,
            "name": name,
            "value": ciphertext(),
            "replaces": sha256(old.encode()).hexdigest(),
        }
        for kind, name, old in (("seed", "", seed), ("macaroon", "a b", admin))
    ]
    sent = await send(alice, f"{path}/reseal", anew=json.dumps(anew))
    assert sent == (200, {"kept": 2})
    found = (await ask(alice, keep))["backups"]
    assert [each["value"] for each in found] == [each["value"] for each in anew]
    assert await send(alice, f"{path}/reseal", anew=json.dumps(anew)) == sent
    other = [{**each, "value": ciphertext()} for each in anew]
    status, _ = await send(alice, f"{path}/reseal", anew=json.dumps(other))
    assert status == 409


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"kind": "seed", "value": WORDS}, "must be encrypted"),
        ({"kind": "macaroon", "name": "a", "value": "0201036c6e64" * 9}, "encrypted"),
        ({"kind": "macaroon", "name": "a/b", "value": "x"}, "name"),
        ({"kind": "harbour", "value": "x"}, "kind"),
        ({}, "kind"),
    ],
)
async def test_what_is_not_encrypted_is_refused_and_not_repeated(
    alice: Visitor, path: str, fields: dict[str, str], says: str
) -> None:
    status, refused = await send(alice, f"{path}/backups", **fields)
    assert status == 400
    assert says in refused["message"]
    assert "abandon" not in refused["message"]
    assert await ask(alice, f"{path}/backups") == {"backups": []}


@pytest.mark.parametrize("anew", ["", "7", "[7]", '[{"kind": "seed"}]', "[]"])
async def test_a_reseal_that_makes_no_sense_is_refused(
    alice: Visitor, path: str, anew: str
) -> None:
    assert (await send(alice, f"{path}/reseal", anew=anew))[0] == 400


async def test_a_reseal_under_a_name_that_no_macaroon_has_is_refused(
    alice: Visitor, path: str
) -> None:
    anew = r'[{"kind": "macaroon", "name": "\u0000", "replaces": "", "value": ""}]'
    status, refused = await send(alice, f"{path}/reseal", anew=anew)
    assert status == 400
    assert "name: must have 1 to 50 characters" in refused["message"]


@pytest.mark.parametrize("ending", ["backups", "reseal"])
async def test_another_site_cannot_replace_backups(
    alice: Visitor, path: str, ending: str
) -> None:
    alice.token = "of another session"
    refused = await alice.submit(f"{path}/{ending}", {"kind": "seed"})
    assert refused.status == 403


@pytest.mark.parametrize(
    ("whitelist", "address", "listed"),
    [
        (["198.51.100.0/24"], "198.51.100.7", True),
        (["198.51.100.0/24"], "::ffff:198.51.100.7", True),
        (["198.51.100.8"], "198.51.100.7", False),
        ([], "198.51.100.7", False),
        (["::/0"], "2001:db8::7", True),
        (["0.0.0.0/0"], "2001:db8::7", False),
        (["0.0.0.0/0"], "", False),
    ],
)
async def test_facts_say_whether_the_browser_is_let_in(
    alice: Visitor,
    fleet_harness: FleetHarness,
    whitelist: list[str],
    address: str,
    *,
    listed: bool,
) -> None:
    node = await fleet_harness.create(
        organization_id=alice.organization_id,
        settings={**SETTINGS, "whitelist": whitelist},
    )
    await fleet_harness.work()
    alice.address = address
    assert await ask(alice, f"{alice.root}/nodes/{node.id}/wallet/facts") == {
        "status": "waiting_init",
        "rest": True,
        "address": address,
        "listed": listed,
        "authority": True,
    }


async def test_the_authority_is_public(
    alice: Visitor, nobody: Visitor, authority: Authority
) -> None:
    shown = await alice.get("/app/authority.pem")
    assert shown.text.encode() == authority.root_pem
    assert (await nobody.get("/app/authority.pem")).text == shown.text


async def test_the_page_says_how_to_trust_the_platform_and_what_that_gives_away(
    alice: Visitor, fleet_harness: FleetHarness, authority: Authority
) -> None:
    node = await fleet_harness.create(organization_id=alice.organization_id)
    await fleet_harness.work()
    page = f"{alice.root}/nodes/{node.id}/wallet/initialise"
    said = (await alice.get(page)).text
    assert "<code>leyden trust</code>" in said
    assert "<code>leyden trust --from <span data-origin></span></code>" in said
    assert "Restart your browser" in said
    assert authority.fingerprint in said
    assert str(authority.scope) in said
    assert "any website" not in said


async def test_the_page_warns_of_an_authority_that_may_vouch_for_everything(
    platform: Platform, fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    old = open_or_create(tmp_path / "old", now=NOW)
    old_home = replace(platform, fleet=replace(fleet_harness.fleet, authority=old))
    site = dashboard(old_home, version="0.1.0", origins=[f"http://{HOST}"])
    team = await accounts.create_organization(platform, "Harbour Light", actor="test")
    alice = await person(platform, site, "alice", team.id, Role.OWNER)
    node = await fleet_harness.create(organization_id=team.id)
    await fleet_harness.work()
    page = f"{alice.root}/nodes/{node.id}/wallet/initialise"
    said = (await alice.get(page)).text
    assert "can sign for any website" in said
    assert "leyden ca rotate" in said
