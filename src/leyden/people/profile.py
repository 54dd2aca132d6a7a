"""A person's own settings: password and sessions."""

from datetime import datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import available_timezones

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.sign_in import Session, SignedIn
from leyden.errors import Malformed, NotFound, Unauthorized
from leyden.people import attempts, notices, passwords

WRONG = "Wrong current password."
THEMES: Final = ("light", "dark")
_PLACES: Final = (
    *("Africa/", "America/", "Antarctica/", "Arctic/", "Asia/"),
    *("Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/"),
)
ENDED = "You were signed out, and nothing was changed. Sign in again."


async def sessions(
    platform: Platform, who: SignedIn, *, now: datetime
) -> list[Session]:
    """Return the person's live sessions, the latest used first."""
    idle = timedelta(seconds=platform.settings.session_idle_s)
    found = await platform.database.reader.sessions.list_(who.person.id)
    return [each for each in found if each.is_complete and each.is_live(now, idle=idle)]


async def end_session(
    platform: Platform, who: SignedIn, session_id: str, *, now: datetime
) -> None:
    """End one of the person's sessions; raise NotFound if it has ended."""
    async with platform.database.transaction() as tx:
        await check_signed_in(platform, tx, who)
        if not await tx.sessions.end(who.person.id, session_id):
            raise NotFound
        await tx.audit.add(
            at=now, actor=who.actor, action="session ended", subject=session_id
        )


async def end_others(platform: Platform, who: SignedIn, *, now: datetime) -> None:
    """End all sessions of the person but this one."""
    async with platform.database.transaction() as tx:
        # A sign-in on its way comes before or after.
        await check_signed_in(platform, tx, who)
        await tx.sessions.end_others(who.person.id, but=who.session.id)
        await note(tx, who, "signed out elsewhere", now)


async def change_password(
    platform: Platform,
    who: SignedIn,
    *,
    present: str,
    new: str,
    forget_passkeys: bool,
    now: datetime,
) -> None:
    """Change the password; end all other sessions; remove passkeys if asked.

    If somebody else had access, a passkey of theirs might remain otherwise.
    """
    await check_password(platform, who, present, now=now)
    digest = await passwords.digest(new, address=who.session.address)
    async with platform.database.transaction() as tx:
        await check_signed_in(platform, tx, who)
        await tx.accounts.set_password(who.person.id, digest)
        if forget_passkeys:
            await tx.second_factors.remove_passkeys(who.person.id)
        await tx.email_links.end_all(who.person.id)
        await tx.sessions.end_others(who.person.id, but=who.session.id)
        await note(tx, who, "password changed", now)
        email = who.person.email
        await notices.tell(platform, tx, "password_changed", to=email, now=now)


async def set_display(
    platform: Platform, who: SignedIn, *, theme: str, time_zone: str
) -> None:
    """Store theme and time zone of the dashboard; "" is what the browser has."""
    if theme not in {"", *THEMES}:
        raise Malformed(f"theme: must be one of {', '.join(THEMES)}")
    if time_zone not in {"", *time_zones()}:
        raise Malformed("time_zone: must be the name of a time zone")
    async with platform.database.transaction() as tx:
        await check_signed_in(platform, tx, who)
        await tx.people.set_display(who.person.id, theme=theme, time_zone=time_zone)


@cache
def time_zones() -> tuple[str, ...]:
    """Return the time zones that people choose from, by the names of places."""
    places = {each for each in available_timezones() if each.startswith(_PLACES)}
    return ("UTC", *sorted(places))


async def check_password(
    platform: Platform, who: SignedIn, present: str, *, now: datetime
) -> None:
    """Check the password once more, for open browsers; count failures."""
    email, address = who.person.email, who.session.address
    here = attempts.session_key(who.session)
    passwords.check_room(address)
    await attempts.count(platform, email, address, here=here, now=now)
    found = await platform.database.reader.people.password(email)
    password_hash = found[1] if found else None
    if not await passwords.is_right(present, password_hash, address=address):
        raise Unauthorized(WRONG)
    async with platform.database.transaction() as tx:
        await attempts.forgive(platform, tx, email, address, here=here)


async def check_signed_in(platform: Platform, tx: Stores, who: SignedIn) -> None:
    """Lock the person; raise Unauthorized if the session has ended."""
    await tx.people.lock(who.person.id)
    now = platform.clock()
    idle = timedelta(seconds=platform.settings.session_idle_s)
    live = await tx.sessions.list_(who.person.id)
    if not any(
        each.id == who.session.id and each.is_complete and each.is_live(now, idle=idle)
        for each in live
    ):
        raise Unauthorized(ENDED)


async def note(tx: Stores, who: SignedIn, action: str, now: datetime) -> None:
    """Record in the audit log what the person changed about themselves."""
    await tx.audit.add(at=now, actor=who.actor, action=action, subject=who.person.id)
