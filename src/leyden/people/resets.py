"""Resetting a forgotten password by a link that is sent by email.

The link works once, for an hour, in the browser in which it was requested, and until
the password is changed. It ends all sessions, and leaves the second factor as it is.
Only what was added before the address was confirmed ends: the first person to open an
invitation's link could add it, and the inviter had seen the link.

The response is sent before we look up whether the address is known: the response, and
its duration, are the same.
"""

import hmac
import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import check_email
from leyden.base.rules.addresses import rate_limit_key
from leyden.errors import Conflict, Forbidden, NotFound
from leyden.events import letters
from leyden.events.rows.email_links import EmailLink, LinkKind
from leyden.events.rules.letters import Letter
from leyden.people import attempts, email_choices, notices, passwords

LIVES: Final = timedelta(hours=1)
NO_EMAILS: Final = "This platform sends no emails. Ask the operator for a new password."
GONE: Final = (
    "This link has expired, was already used, or is older than your password. Request "
    "a new one."
)
ELSEWHERE: Final = (
    "This link works only in the browser that requested it. Open it there, or request "
    "a new one here."
)
_BROWSER: Final = "browser of a reset"
_COUNTED: Final = "resets"
_PER_BOTH: Final = 3  # for an address, from one source
_PER_SOURCE: Final = 20  # many people may share one
_PER_EMAIL: Final = 10


async def ask(
    platform: Platform, email: str, *, address: str, browser: str, now: datetime
) -> str:
    """Ask for a link; return the word for the cookie of this browser.

    One that it has stays: a link that was asked for before works there, too.
    The same is done for an address that nobody has. Raise TooMany over the limits.
    """
    if not notices.is_on(platform):
        raise Conflict(NO_EMAILS)
    email = check_email(email)
    browser = browser or secrets.token_urlsafe(32)
    word = secrets.token_urlsafe(32)
    facts = {"word": word, "browser": _digest(platform, browser).hex()}
    letter = Letter(kind=letters.RESET, facts=facts)
    counted = _counted(platform, email, address)
    await attempts.count_all(platform, counted, within=attempts.COUNTED_FOR, now=now)
    async with platform.database.transaction() as tx:
        await letters.queue(tx, platform.sealer, letter, to=email, lives=LIVES, now=now)
    return browser


async def find(
    platform: Platform, word: str, *, browser: str, now: datetime
) -> EmailLink:
    """Return a link that still works here; else raise what is wrong."""
    digest = letters.link_digest(platform.sealer, word)
    reader = platform.database.reader
    link = await reader.email_links.find(digest, LinkKind.RESET, now=now)
    if link is None or not await _is_of_password(platform, reader, link):
        raise NotFound(GONE)
    if not hmac.compare_digest(link.browser or b"", _digest(platform, browser)):
        raise Forbidden(ELSEWHERE)
    return link


async def reset(
    platform: Platform,
    word: str,
    password: str,
    *,
    browser: str,
    address: str,
    now: datetime,
) -> None:
    """Set a new password and end all sessions.

    Passkeys and the authenticator stay if the address was confirmed before.
    """
    link = await find(platform, word, browser=browser, now=now)
    digest = await passwords.digest(password, address=address)
    async with platform.database.transaction() as tx:
        await tx.people.lock(link.user_id)
        # The password may have been changed, or the link used, while this was hashed.
        if not await tx.email_links.use(link.digest) or not await _is_of_password(
            platform, tx, link
        ):
            raise NotFound(GONE)
        await tx.accounts.set_password(link.user_id, digest)
        await tx.sessions.end_others(link.user_id, but="")
        await tx.email_links.end_all(link.user_id)
        if await tx.email_links.confirmed(link.user_id) is None:
            await tx.second_factors.remove_all(link.user_id)
        await tx.email_links.confirm(link.user_id, link.address, now=now)
        await tx.audit.add(
            at=now,
            actor=f"user:{link.user_id}",
            action="password reset",
            subject=link.user_id,
        )
        await notices.tell(platform, tx, "password_changed", to=link.address, now=now)
        await email_choices.subscribe_to_all(platform, tx, link.user_id, now=now)


async def _is_of_password(platform: Platform, stores: Stores, link: EmailLink) -> bool:
    """Return whether person, address and password are as they were."""
    found = await stores.people.password(link.address)
    if found is None or found[0].id != link.user_id or link.password is None:
        return False
    present = letters.password_digest(platform.sealer, found[1])
    return hmac.compare_digest(link.password, present)


def _counted(
    platform: Platform, email: str, address: str
) -> Iterator[tuple[bytes, int]]:
    """Yield the keys that a request is counted under, with their limits."""
    address = rate_limit_key(address)
    for what, limit in (
        (f"{email} from {address}", _PER_BOTH),
        (f"from {address}", _PER_SOURCE),
        (email, _PER_EMAIL),
    ):
        yield platform.sealer.digest(what.encode(), purpose=_COUNTED), limit


def _digest(platform: Platform, browser: str) -> bytes:
    return platform.sealer.digest(browser.encode(), purpose=_BROWSER)
