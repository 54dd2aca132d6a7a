"""A person's email address, and the emails that they get."""

from typing import Final

from starlette.responses import Response

from leyden.base.pages.visits import Visit, redirect
from leyden.errors import Refused
from leyden.events.pages.events import type_groups
from leyden.events.rules.events import INSTALLATION
from leyden.people import email_addresses, email_choices, notices
from leyden.people.email_choices import Choice
from leyden.people.pages import account

_URL: Final = "/app/account/emails"
_GROUPS: Final = {
    "backup.*": "Backups",
    "channel.*": "Channels",
    "credit.*": "Credit",
    "key.*": "API keys",
    "login.*": "Signing in",
    "member.*": "Team",
    "node.*": "Nodes",
    "order.*": "Orders",
    "payment.*": "Payments",
}
_DONE: Final = "Your choice was saved."


async def ask_confirmation(visit: Visit) -> Response:
    """Send a link that confirms the person's address."""
    step = email_addresses.ask(visit.platform, visit.user, now=visit.now)
    return await account.done(visit, step, "link")


async def change(visit: Visit) -> Response:
    """Send a link to a new address, given the password."""
    step = email_addresses.ask_change(
        visit.platform,
        visit.user,
        visit.form.text("email"),
        present=visit.form.secret("present"),
        now=visit.now,
    )
    return await account.done(visit, step, "link")


async def open_link(visit: Visit) -> Response:
    """Ask whether the address of a link is to be the person's."""
    word = visit.query.text("word")
    link = await email_addresses.find(visit.platform, visit.user, word, now=visit.now)
    return visit.render("account/confirm_email.html", word=word, email=link.address)


async def confirm(visit: Visit) -> Response:
    """Confirm an address, or change to it."""
    word = visit.form.text("word")
    await email_addresses.confirm(visit.platform, visit.user, word, now=visit.now)
    return redirect("/app/account?done=email")


async def show(visit: Visit) -> Response:
    """Show which events the person gets emails about."""
    return await _shown(visit)


async def choose(visit: Visit) -> Response:
    """Store what the person gets emails about, of one organization."""
    try:
        await email_choices.choose(
            visit.platform,
            visit.user,
            visit.form.text("organization"),
            visit.form.all_("type"),
            now=visit.now,
        )
    except Refused as error:
        return await _shown(visit, refused=error)
    return redirect(f"{_URL}?done=saved")


async def ask_unsubscribe(visit: Visit) -> Response:
    """Ask whether to end emails, for who has the link of one."""
    return visit.render(
        "account/unsubscribe.html",
        subscription=visit.query.text("subscription"),
        word=visit.query.text("word"),
        is_done=False,
    )


async def unsubscribe(visit: Visit) -> Response:
    """End emails; mail programs do so by themselves, with the link alone."""
    await email_choices.unsubscribe(
        visit.platform, visit.query.text("subscription"), visit.query.text("word")
    )
    return visit.render("account/unsubscribe.html", is_done=True)


async def _shown(visit: Visit, refused: Refused | None = None) -> Response:
    choices = await email_choices.list_(visit.platform, visit.user)
    confirmed = await email_addresses.confirmed(visit.platform, visit.user)
    return visit.render(
        "account/emails.html",
        choices=[(each, _groups(each)) for each in choices],
        confirmed=confirmed,
        is_on=notices.is_on(visit.platform),
        done=_DONE if visit.query.text("done") else "",
        refused=refused,
    )


def _groups(choice: Choice) -> dict[str, list[str]]:
    """Return types by what they are about, in words."""
    types = sorted(choice.types)
    if choice.organization_id == INSTALLATION:
        return {"Alarms": types}
    return {
        _GROUPS.get(each, each): below for each, below in type_groups(types).items()
    }
