"""Questions before what cannot be undone, as whoever has no scripts sees them."""

import re
from html import unescape

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.nodes.rules.observations import LndState
from leyden.people import api_keys
from tests.base.pages.conftest import person
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import fields, made
from tests.people.pages.test_team import user_id

EVIL = "\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET}<b>!"  # it reads from the right
ESCAPED = "\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET}&lt;b&gt;!"


async def running(alice: Visitor, fleet_harness: FleetHarness) -> str:
    """Make a node whose wallet is open; return the address of its page."""
    page = await made(alice, fleet_harness)
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.runtime.say(node.id, LndState.SERVER_ACTIVE)
    await fleet_harness.settled()
    return page


def question_of(text: str) -> str:
    """Return the question of a page, without its markup."""
    found = re.search(r'id="confirm".*?>(.*?)</section>', text, re.DOTALL)
    assert found is not None, text
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[1])).split())


async def test_each_command_names_its_consequence_and_then_does_it(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await running(alice, fleet_harness)
    shown = (await alice.get(page)).text
    for action, consequence in (
        ("stop", "stays off until you start the node again"),
        ("restart", "This locks the wallet."),
        ("update?version=v0.20.2-beta", "You can't undo this. lnd converts its data"),
        ("delete", "You can restore it for 7 days. After that you can't undo this"),
    ):
        assert f'href="{page}/{action}" data-dialog' in shown, action
        question = await alice.get(f"{page}/{action}")
        assert question.status == 200, action
        assert consequence in question_of(question.text), action
        assert f'href="{page}" data-dismiss' in question.text
        path = action.partition("?")[0]
        assert f'action="{page}/{path}"' in question.text
    assert f'class="button" href="{page}/wallet/bakery">Connect an app<' in shown
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert node.status == "running"  # to ask is to do nothing
    sent = fields((await alice.get(f"{page}/update?version=v0.21.2-beta")).text)
    assert sent["version"] == "v0.21.2-beta"
    answer = await alice.submit(f"{page}/update", dict(sent))
    assert answer.location == f"{page}?done=update"
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert str(node.version) == "v0.21.2-beta"


async def test_an_update_lists_what_apps_lose(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await running(alice, fleet_harness)
    newest = question_of((await alice.get(f"{page}/update?version=v0.21.2-beta")).text)
    assert "the field outgoing_chan_id: use outgoing_chan_ids" in newest
    next_ = question_of((await alice.get(f"{page}/update?version=v0.20.2-beta")).text)
    assert "Apps lose" not in next_


async def test_what_can_no_longer_be_done_is_not_asked(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await running(alice, fleet_harness)
    await alice.submit(f"{page}/stop")
    await fleet_harness.work()
    await fleet_harness.settled()
    for action in ("stop", "restart"):  # in another tab, which shows what was before
        shown = await alice.get(f"{page}/{action}")
        assert shown.status == 409, action
        assert "A node that is stopped cannot be" in shown.text
    old = await alice.get(f"{page}/update?version=v0.18.5-beta")
    assert old.status == 400
    update = (await alice.get(f"{page}/update")).text
    assert "from the next start" in question_of(update)
    assert "locks the wallet" not in question_of(update)  # it is locked
    assert "Leyden 0.1.0" in update


async def test_settings_that_restart_lnd_are_saved_once_that_is_confirmed(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = f"{await running(alice, fleet_harness)}/settings"
    form = fields((await alice.get(page)).text)
    sent = form | {"alias": EVIL}
    question = await alice.submit(page, sent)
    assert question.status == 200
    assert "This locks the wallet." in question_of(question.text)
    assert "<b>" not in question.text
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert (node.settings.alias, node.status) == ("harbour light", "running")
    confirmed = fields(question.text)
    assert confirmed.items() >= sent.items() - {("token", sent["token"])}
    done = await alice.submit(page, dict(confirmed))
    assert done.location == f"{page}?done=restarting"
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert (node.settings.alias, node.status) == (EVIL, "restarting")


async def test_a_node_without_a_wallet_locks_none(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    assert "locks the wallet" not in question_of(
        (await alice.get(f"{page}/restart")).text
    )


async def test_a_wrong_name_is_asked_for_again(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    shown = await alice.submit(f"{page}/delete", {"name": "harbour"})
    assert shown.status == 400
    assert "Type harbour light to delete the node" in question_of(shown.text)
    gone = await alice.submit(f"{page}/delete", {"name": "harbour light"})
    node_id = page.rpartition("/")[2]
    assert gone.location == f"{alice.root}/nodes?deleted={node_id}"
    answer = (await alice.get(gone.location)).text
    assert "</strong> was deleted. You can restore it until" in answer
    assert f'action="{page}/restore"' in answer
    listed = (await alice.get(f"{alice.root}/nodes/deleted")).text
    assert 'aria-label="Restore harbour light"' in listed
    back = await alice.submit(f"{page}/restore")
    assert back.location == f"{page}?done=restore"
    assert "The node is restored." in (await alice.get(back.location)).text


async def test_a_secret_is_rotated_once_its_consequence_was_named(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await made(alice, fleet_harness)
    await alice.submit(f"{page}/webhook", {"webhook": "https://hooks.example/"})
    assert (
        f'href="{page}/webhook/rotate-secret" data-dialog'
        in (await alice.get(f"{page}/webhook")).text
    )
    question = question_of((await alice.get(f"{page}/webhook/rotate-secret")).text)
    assert "For 1 day the old secret also signs them" in question
    answer = await alice.submit(f"{page}/webhook/rotate-secret")
    assert answer.location == f"{page}/webhook?done=rotated"


async def test_a_key_is_named_as_it_is_written(
    alice: Visitor, platform: Platform
) -> None:
    key, _ = await api_keys.create(
        platform,
        alice.organization_id,
        name=EVIL,
        scopes=["node"],
        expires=None,
        actor="test",
    )
    ask = f"{alice.root}/keys/revoke?key={key.id}"
    assert f'href="{ask}" data-dialog' in (await alice.get(f"{alice.root}/keys")).text
    question = await alice.get(ask)
    assert f"<bdi>{ESCAPED}</bdi>" in question.text  # turns nothing around it
    assert "<b>" not in question.text
    assert "It was never used." in question_of(question.text)
    await alice.submit(f"{alice.root}/keys/revoke", dict(fields(question.text)))
    assert (await alice.get(ask)).status == 404  # revoked in another tab
    assert (await alice.get(f"{alice.root}/keys/revoke?key=none")).status == 404


async def test_a_member_is_removed_and_a_role_may_not_ask(
    alice: Visitor, bob: Visitor, platform: Platform, site: Site
) -> None:
    dora = await person(platform, site, "dora", alice.organization_id, Role.VIEWER)
    shown = (await alice.get(f"{alice.root}/team")).text
    (ask,) = re.findall(r'href="([^"]+)" data-dialog aria-label="Remove dora', shown)
    question = await alice.get(unescape(ask))
    assert "dora@example.org loses access to Harbour Light" in question_of(
        question.text
    )
    assert (await bob.get(unescape(ask))).status == 403
    await alice.submit(f"{alice.root}/team/remove", dict(fields(question.text)))
    assert (await dora.get(f"{alice.root}/nodes")).status == 404
    assert (await alice.get(unescape(ask))).status == 404


async def test_who_leaves_is_told_what_that_takes(
    alice: Visitor, bob: Visitor, platform: Platform
) -> None:
    shown = (await bob.get(f"{alice.root}/team")).text
    assert shown.count("data-dialog") == 0
    another = {"user": await user_id(platform, "bob"), "role": "owner"}
    await alice.submit(f"{alice.root}/team/role", another)
    shown = (await alice.get(f"{alice.root}/team")).text
    (ask,) = re.findall(r'href="([^"]+)" data-dialog aria-label="Remove alice', shown)
    question = question_of((await alice.get(unescape(ask))).text)
    assert question.endswith("Cancel Leave organization")


async def test_an_invitation_is_revoked(alice: Visitor) -> None:
    invited = {"email": "dora@example.org", "role": "viewer"}
    await alice.submit(f"{alice.root}/team/invite", invited)
    shown = (await alice.get(f"{alice.root}/team")).text
    (ask,) = re.findall(r'href="([^"]+)" data-dialog aria-label="Revoke the inv', shown)
    question = await alice.get(unescape(ask))
    assert "Its link stops working at once." in question_of(question.text)
    await alice.submit(f"{alice.root}/team/withdraw", dict(fields(question.text)))
    assert (await alice.get(unescape(ask))).status == 404
