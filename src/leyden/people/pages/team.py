"""Members of the organization, and invitations."""

from urllib.parse import urlencode

from starlette.responses import Response

from leyden.base.pages.visits import HOME, Visit, redirect
from leyden.base.rules.accounts import Role
from leyden.errors import NotFound, Refused, Taken, TooMany
from leyden.people import invitations, sign_in, team
from leyden.people.pages import sign_in_pages


async def show(visit: Visit) -> Response:
    """Show the members and open invitations."""
    return await _shown(visit)


async def invite(visit: Visit) -> Response:
    """Create an invitation, and show its link once."""
    try:
        invitation, word, is_sent = await invitations.invite(
            visit.platform,
            visit.organization_id,
            email=visit.form.text("email"),
            role=team.parse_role(visit.form.text("role")),
            actor=visit.user.actor,
            now=visit.now,
        )
    except Refused as error:
        return await _shown(visit, wrong=error, email=visit.form.text("email"))
    link = f"{visit.origin}/app/invitation?{urlencode({'word': word})}"
    return visit.render(
        "team/invited.html", invitation=invitation, link=link, is_sent=is_sent
    )


async def ask_withdraw(visit: Visit) -> Response:
    """Ask before an invitation is revoked."""
    wanted, back = visit.query.text("invitation"), f"{visit.root}/team"
    for each in await invitations.list_(
        visit.platform, visit.organization_id, now=visit.now
    ):
        if each.id == wanted:
            return visit.ask("withdraw-invitation", back=back, invitation=each)
    raise NotFound


async def withdraw(visit: Visit) -> Response:
    """Revoke an invitation."""
    await invitations.withdraw(
        visit.platform,
        visit.organization_id,
        visit.form.text("invitation"),
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{visit.root}/team")


async def set_role(visit: Visit) -> Response:
    """Change a member's role."""
    await team.set_role(
        visit.platform,
        visit.organization_id,
        visit.form.text("user"),
        team.parse_role(visit.form.text("role")),
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{visit.root}/team")


async def ask_remove(visit: Visit) -> Response:
    """Ask before a member is removed."""
    wanted, back = visit.query.text("user"), f"{visit.root}/team"
    for each in await team.members(visit.platform, visit.organization_id):
        if each.person.id == wanted:
            return visit.ask("remove-member", back=back, member=each)
    raise NotFound


async def remove(visit: Visit) -> Response:
    """Remove a member from the organization."""
    await team.remove(
        visit.platform,
        visit.organization_id,
        visit.form.text("user"),
        actor=visit.user.actor,
        now=visit.now,
    )
    return redirect(f"{visit.root}/team")


async def ask_to_join(visit: Visit) -> Response:
    """Show an invitation to the person who opened its link."""
    return await _confirmation(visit, visit.query.text("word"))


async def join(visit: Visit) -> Response:
    """Join as the signed-in person, or as a new one with a password."""
    word = visit.form.text("word")
    invitation = await invitations.invited(visit.platform, word, now=visit.now)
    if visit.signed_in is not None:
        await invitations.accept(
            visit.platform, invitation, visit.user.person, now=visit.now
        )
        return redirect(f"/app/{invitation.organization_id}/nodes")
    try:
        person = await invitations.enrol(
            visit.platform,
            invitation,
            visit.form.secret("password"),
            address=visit.address,
            now=visit.now,
        )
    except Taken:
        return redirect(f"/app/sign-in?{urlencode({'next': _link(word)})}")
    except (Refused, TooMany) as error:
        return await _confirmation(visit, word, wrong=error)
    async with visit.platform.database.transaction() as tx:
        session, cookie = await sign_in.begin(
            visit.platform,
            tx,
            person,
            is_complete=True,
            address=visit.address,
            browser=visit.browser,
            now=visit.now,
        )
    return await sign_in_pages.begun(visit, session, cookie, then=HOME)


async def _confirmation(
    visit: Visit, word: str, wrong: Refused | None = None
) -> Response:
    invitation = await invitations.invited(visit.platform, word, now=visit.now)
    reader = visit.platform.database.reader
    return visit.render(
        "team/join.html",
        invitation=invitation,
        organization=await reader.accounts.get(invitation.organization_id),
        word=word,
        sign_in=f"/app/sign-in?{urlencode({'next': _link(word)})}",
        refused=wrong,
    )


def _link(word: str) -> str:
    return f"/app/invitation?{urlencode({'word': word})}"


async def _shown(
    visit: Visit, *, wrong: Refused | None = None, email: str = ""
) -> Response:
    return visit.render(
        "team/list.html",
        members=await team.members(visit.platform, visit.organization_id),
        invitations=await invitations.list_(
            visit.platform, visit.organization_id, now=visit.now
        ),
        roles=[
            role
            for role in Role
            if role is not Role.OWNER or visit.own_membership.role is role
        ],
        email=email,
        refused=wrong,
    )
