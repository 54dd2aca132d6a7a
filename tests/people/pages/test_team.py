"""Who is in an organization, who is asked in, and who says so."""

import re
from datetime import timedelta
from html import unescape

import pytest

from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role, new_id
from leyden.people import invitations
from leyden.people.rows.invitations import Invitation
from tests.base.pages.conftest import PASSWORD, person
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness


async def invite(visitor: Visitor, email: str, role: str = "developer") -> str:
    """Invite a member; give the link, or what was said instead."""
    shown = await visitor.submit(
        f"{visitor.root}/team/invite", {"email": email, "role": role}
    )
    found = re.search(r'id="link"[^>]*>([^<]+)<', shown.text)
    return unescape(found[1]).partition("8000")[2] if found else shown.text


async def roles(platform: Platform, organization_id: str) -> dict[str, str]:
    members = await platform.database.reader.people.members(organization_id)
    return {each.person.email.partition("@")[0]: each.role for each in members}


async def user_id(platform: Platform, name: str) -> str:
    found = await platform.database.reader.accounts.find_person(f"{name}@example.org")
    assert found is not None
    return found.id


async def test_somebody_new_joins_by_the_link_alone(
    alice: Visitor, nobody: Visitor, platform: Platform
) -> None:
    link = await invite(alice, "Dora@Example.org")
    shown = await nobody.get(link)
    assert "Join Harbour Light" in shown.text
    word = link.partition("word=")[2]
    short = await nobody.submit("/app/invitation", {"word": word, "password": "short"})
    assert (short.status, "at least 10 characters" in short.text) == (400, True)
    joined = await nobody.submit(
        "/app/invitation", {"word": word, "password": PASSWORD}
    )
    assert joined.location == "/app/"
    assert (await nobody.get(f"{alice.root}/nodes")).status == 200
    assert await roles(platform, alice.organization_id) == {
        "alice": "owner",
        "dora": "developer",
    }
    again = await Visitor(nobody.site).get(link)
    assert (again.status, "sign in" in again.text) == (404, True)


async def test_whoever_is_here_already_joins_as_who_they_are(
    alice: Visitor, charlie: Visitor, nobody: Visitor
) -> None:
    link = await invite(alice, "charlie@example.org", "viewer")
    word = link.partition("word=")[2]
    # A stranger with the link gains nothing: the address has a password already.
    await nobody.get(link)
    sent = await nobody.submit("/app/invitation", {"word": word, "password": PASSWORD})
    assert sent.location.startswith("/app/sign-in?next=")
    await charlie.get(link)
    joined = await charlie.submit("/app/invitation", {"word": word})
    assert joined.location == f"{alice.root}/nodes"
    assert (await charlie.get(f"{alice.root}/nodes")).status == 200
    assert (await charlie.get(f"{alice.root}/nodes/new")).status == 403


async def test_an_invitation_is_for_one_person_for_a_while(
    alice: Visitor, charlie: Visitor, fleet_harness: FleetHarness
) -> None:
    link = await invite(alice, "dora@example.org")
    word = link.partition("word=")[2]
    await charlie.get(link)
    refused = await charlie.submit("/app/invitation", {"word": word})
    assert refused.status == 403
    fleet_harness.now += timedelta(days=8)
    assert (await Visitor(alice.site).get(link)).status == 404


async def test_a_withdrawn_invitation_is_none(alice: Visitor) -> None:
    link = await invite(alice, "dora@example.org")
    shown = await alice.get(f"{alice.root}/team")
    found = re.search(r'withdraw\?invitation=([^"]+)"', shown.text)
    assert found is not None
    await alice.submit(f"{alice.root}/team/withdraw", {"invitation": found[1]})
    assert (await Visitor(alice.site).get(link)).status == 404


async def test_an_admin_does_not_revoke_the_invitation_of_an_owner(
    alice: Visitor, platform: Platform
) -> None:
    of = alice.organization_id
    admin = await person(platform, alice.site, "carol", of, Role.ADMIN)
    link = await invite(alice, "dora@example.org", "owner")
    [invited] = await invitations.list_(platform, of, now=platform.clock())
    shown = await admin.get(f"{admin.root}/team")
    assert "dora@example.org" in shown.text
    assert "Revoke the invitation" not in shown.text
    revoke = f"{admin.root}/team/withdraw"
    refused = await admin.submit(revoke, {"invitation": invited.id})
    assert (refused.status, "Only an owner" in refused.text) == (403, True)
    assert (await Visitor(alice.site).get(link)).status == 200


@pytest.mark.usefixtures("bob")
async def test_an_owner_always_remains(alice: Visitor, platform: Platform) -> None:
    me, bob_id = await user_id(platform, "alice"), await user_id(platform, "bob")
    for path, fields in (
        ("role", {"user": me, "role": "viewer"}),
        ("remove", {"user": me}),
    ):
        refused = await alice.submit(f"{alice.root}/team/{path}", fields)
        assert refused.status == 409
        assert "last owner" in refused.text
    await alice.submit(f"{alice.root}/team/role", {"user": bob_id, "role": "owner"})
    left = await alice.submit(f"{alice.root}/team/remove", {"user": me})
    assert left.status == 303
    assert await roles(platform, alice.organization_id) == {"bob": "owner"}
    assert (await alice.get(f"{alice.root}/nodes")).status == 404


async def test_an_admin_does_not_say_who_owns_it(
    alice: Visitor, platform: Platform, site: Site
) -> None:
    admin = await person(platform, site, "dora", alice.organization_id, Role.ADMIN)
    owner, me = await user_id(platform, "alice"), await user_id(platform, "dora")
    for path, fields in (
        ("role", {"user": me, "role": "owner"}),
        ("role", {"user": owner, "role": "viewer"}),
        ("remove", {"user": owner}),
        ("invite", {"email": "x@example.org", "role": "owner"}),
    ):
        refused = await admin.submit(f"{alice.root}/team/{path}", fields)
        assert refused.status == 403, path


async def test_another_teams_members_are_out_of_reach(
    alice: Visitor, charlie: Visitor, platform: Platform
) -> None:
    someone = await user_id(platform, "alice")
    for path, fields in (
        ("role", {"user": someone, "role": "viewer"}),
        ("remove", {"user": someone}),
    ):
        for root in (charlie.root, alice.root):
            refused = await charlie.submit(f"{root}/team/{path}", fields)
            assert refused.status == 404
    assert (await charlie.get(f"{alice.root}/team")).status == 404


async def test_a_viewer_invites_nobody(bob: Visitor) -> None:
    assert "Invite a member" not in (await bob.get(f"{bob.root}/team")).text
    refused = await bob.submit(
        f"{bob.root}/team/invite", {"email": "x@example.org", "role": "viewer"}
    )
    assert refused.status == 403


async def test_an_older_link_brings_no_role_back(
    alice: Visitor, charlie: Visitor, platform: Platform
) -> None:
    links = [
        await invite(alice, "charlie@example.org", role) for role in ("viewer", "admin")
    ]
    words = [link.partition("word=")[2] for link in links]
    await charlie.get(links[0])
    joined = await charlie.submit("/app/invitation", {"word": words[0]})
    assert joined.status == 303
    again = await charlie.submit("/app/invitation", {"word": words[1]})
    assert again.status == 404
    assert await roles(platform, alice.organization_id) == {
        "alice": "owner",
        "charlie": "viewer",
    }


async def test_who_was_removed_has_no_link_left(
    alice: Visitor, charlie: Visitor, platform: Platform
) -> None:
    link = await invite(alice, "charlie@example.org", "viewer")
    await charlie.get(link)
    await charlie.submit("/app/invitation", {"word": link.partition("word=")[2]})
    of, them = alice.organization_id, await user_id(platform, "charlie")
    word = await asked_in_beside(platform, of, "charlie@example.org")
    await alice.submit(f"{alice.root}/team/remove", {"user": them})
    assert (await charlie.submit("/app/invitation", {"word": word})).status == 404
    assert await roles(platform, of) == {"alice": "owner"}


async def test_who_is_removed_comes_back_by_no_link_that_they_sent(
    alice: Visitor, nobody: Visitor, platform: Platform, site: Site
) -> None:
    """They have seen the links, and may read the emails of the address."""
    of = alice.organization_id
    admin = await person(platform, site, "dora", of, Role.ADMIN)
    theirs = (await invite(admin, "erin@example.org", "admin")).partition("word=")[2]
    hers = (await invite(alice, "frank@example.org")).partition("word=")[2]
    them = await user_id(platform, "dora")
    await alice.submit(f"{alice.root}/team/remove", {"user": them})
    assert (await nobody.get(f"/app/invitation?word={theirs}")).status == 404
    await nobody.get(f"/app/invitation?word={hers}")
    refused = await nobody.submit(
        "/app/invitation", {"word": theirs, "password": PASSWORD}
    )
    assert refused.status == 404
    joined = await nobody.submit(
        "/app/invitation", {"word": hers, "password": PASSWORD}
    )
    assert joined.status == 303
    assert await roles(platform, of) == {"alice": "owner", "frank": "developer"}


async def test_a_role_that_is_taken_away_takes_the_invitations_along(
    alice: Visitor, platform: Platform, site: Site
) -> None:
    of, now = alice.organization_id, platform.clock()
    owner = await person(platform, site, "dora", of, Role.OWNER)
    for name, role in (("erin", "owner"), ("frank", "viewer")):
        await invite(owner, f"{name}@example.org", role)
    them = await user_id(platform, "dora")
    for role, left in (("admin", ["frank"]), ("developer", [])):
        await alice.submit(f"{alice.root}/team/role", {"user": them, "role": role})
        open_ = await invitations.list_(platform, of, now=now)
        assert [each.email.partition("@")[0] for each in open_] == left


async def test_a_member_accepts_nothing(
    alice: Visitor, bob: Visitor, platform: Platform
) -> None:
    word = await asked_in_beside(platform, alice.organization_id, "bob@example.org")
    refused = await bob.submit("/app/invitation", {"word": word})
    assert (refused.status, "already" in refused.text) == (409, True)
    assert (await roles(platform, alice.organization_id))["bob"] == "viewer"


async def asked_in_beside(platform: Platform, of: str, email: str) -> str:
    """Keep an invitation for somebody who is in already, as a race would leave it."""
    now, word = platform.clock(), "a-word-of-a-link"
    async with platform.database.transaction() as tx:
        await tx.invitations.add(
            Invitation(
                id=new_id(),
                organization_id=of,
                email=email,
                role=Role.ADMIN,
                created=now,
                expires=now + timedelta(days=1),
            ),
            digest=invitations._digest(platform, word),
        )
    return word
