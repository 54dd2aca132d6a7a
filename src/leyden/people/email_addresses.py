"""A person's email address: confirmed by a link, and changed by one."""

import secrets
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import check_email
from leyden.base.rules.sign_in import SignedIn
from leyden.errors import Conflict, Forbidden, Malformed, NotFound, TooMany, Violated
from leyden.events import letters
from leyden.events.rows.email_links import EmailLink, LinkKind
from leyden.events.rules.emails import is_address
from leyden.events.rules.letters import Letter
from leyden.people import email_choices, notices, profile

_LIVES: Final = timedelta(days=1)
_GONE: Final = "This link has expired or was already used. Request a new one."
_OTHERS: Final = (
    "This link belongs to a different account. Sign in to that account and open the "
    "link again."
)
_IN_USE: Final = "You can't use this address for your account."
_MANY: Final = "Too many emails went to this address. Wait an hour and try again."


async def confirmed(platform: Platform, who: SignedIn) -> datetime | None:
    """Return when the person's address was confirmed; None if it was not."""
    return await platform.database.reader.email_links.confirmed(who.person.id)


async def ask(platform: Platform, who: SignedIn, *, now: datetime) -> None:
    """Send the person a link that confirms their address."""
    async with platform.database.transaction() as tx:
        await profile.check_signed_in(platform, tx, who)
        if await tx.email_links.confirmed(who.person.id) is not None:
            raise Conflict("Your email address is already confirmed.")
        await _send(platform, tx, who, to=who.person.email, now=now)


async def ask_change(
    platform: Platform, who: SignedIn, email: str, *, present: str, now: datetime
) -> str:
    """Send a link to a new address, which becomes theirs once it is opened.

    Whether somebody else has the address is said only to who gets its emails.
    """
    await profile.check_password(platform, who, present, now=now)
    email = check_email(email)
    if email == who.person.email:
        raise Malformed("email: is already your address")
    async with platform.database.transaction() as tx:
        await profile.check_signed_in(platform, tx, who)
        await _send(platform, tx, who, to=email, now=now)
        await profile.note(tx, who, "email change asked", now)
    return email


async def send_link(
    platform: Platform, tx: Stores, user_id: str, *, to: str, now: datetime
) -> bool:
    """Queue a link that confirms an address; return False if none will be sent."""
    if not notices.is_on(platform):
        return False
    word = secrets.token_urlsafe(32)
    await tx.email_links.delete(now=now)
    await tx.email_links.add(
        EmailLink(
            digest=letters.link_digest(platform.sealer, word),
            kind=LinkKind.CONFIRM,
            user_id=user_id,
            address=to,
            browser=None,
            password=None,
            created=now,
            expires=now + _LIVES,
        )
    )
    letter = Letter(kind="confirm", facts={"word": word})
    return await letters.queue(
        tx, platform.sealer, letter, to=to, lives=_LIVES, now=now
    )


async def _send(
    platform: Platform, tx: Stores, who: SignedIn, *, to: str, now: datetime
) -> None:
    if not notices.is_on(platform):
        raise Conflict("This installation sends no emails.")
    if not is_address(to):
        raise Malformed("email: not a valid email address")
    if not await send_link(platform, tx, who.person.id, to=to, now=now):
        raise TooMany(_MANY, retry_after_s=3600)


async def find(
    platform: Platform, who: SignedIn, word: str, *, now: datetime
) -> EmailLink:
    """Return a link of this person's that still works; else raise what is wrong."""
    digest = letters.link_digest(platform.sealer, word)
    links = platform.database.reader.email_links
    link = await links.find(digest, LinkKind.CONFIRM, now=now)
    if link is None:
        raise NotFound(_GONE)
    if link.user_id != who.person.id:
        raise Forbidden(_OTHERS)
    return link


async def confirm(
    platform: Platform, who: SignedIn, word: str, *, now: datetime
) -> None:
    """Use a link: the address that it was sent to is the person's."""
    link = await find(platform, who, word, now=now)
    try:
        async with platform.database.transaction() as tx:
            await profile.check_signed_in(platform, tx, who)
            if not await tx.email_links.use(link.digest):
                raise NotFound(_GONE)
            person = await tx.people.get(who.person.id)
            if link.address == person.email:
                await tx.email_links.confirm(person.id, person.email, now=now)
                await profile.note(tx, who, "email confirmed", now)
            else:
                await _move(platform, tx, who, person.email, link.address, now=now)
            await email_choices.subscribe_to_all(platform, tx, person.id, now=now)
    except Violated:  # two people, in the same instant
        raise Conflict(_IN_USE) from None


async def _move(
    platform: Platform,
    tx: Stores,
    who: SignedIn,
    before: str,
    after: str,
    *,
    now: datetime,
) -> None:
    if not await tx.email_links.move(who.person.id, after, now=now):
        raise Conflict(_IN_USE)
    # What was sent to the old address opens nothing any more.
    await tx.email_links.end_all(who.person.id)
    await email_choices.resume(tx, who.person.id, now=now)
    await tx.audit.add(
        at=now,
        actor=who.actor,
        action="email changed",
        subject=who.person.id,
        changes={"email": (before, after)},
    )
    await notices.tell(platform, tx, "address_changed", to=before, now=now)
