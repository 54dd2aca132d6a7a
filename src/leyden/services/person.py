"""What a person changes about themselves: password, authenticator, sessions."""

import base64
import secrets
from datetime import datetime, timedelta
from urllib.parse import quote

from leyden.domain.sign_in import Session, SignedIn
from leyden.errors import Conflict, Unauthorized
from leyden.services import passwords, sign_in
from leyden.services.platform import Platform
from leyden.storage.nouns import Nouns

_SECRET_BYTES = 20  # what authenticator apps expect with SHA-1
WRONG = "That is not your present password."
ENDED = "You were signed out meanwhile. Sign in again; nothing was changed."


async def sessions(platform: Platform, who: SignedIn) -> list[Session]:
    """Give the browsers they are signed in with, the latest used first."""
    return await platform.database.reader.sessions.list_(who.person.id)


async def end_others(platform: Platform, who: SignedIn, *, now: datetime) -> None:
    """Sign out everywhere but here."""
    async with platform.database.transaction() as tx:
        # A sign-in on its way comes before or after.
        await check_signed_in(platform, tx, who)
        await tx.sessions.end_others(who.person.id, but=who.session.id)
        await _noted(tx, who, "signed out elsewhere", now)


async def change_password(
    platform: Platform,
    who: SignedIn,
    *,
    present: str,
    new: str,
    forget_passkeys: bool,
    now: datetime,
) -> None:
    """Change the password, and sign out everywhere but here; without passkeys if said.

    Who changes it because somebody else was in wants no passkey of theirs to remain.
    """
    await check_password(platform, who, present, now=now)
    digest = await passwords.digest(new)
    async with platform.database.transaction() as tx:
        await check_signed_in(platform, tx, who)
        await tx.accounts.set_password(who.person.id, digest)
        if forget_passkeys:
            await tx.second_factors.remove_passkeys(who.person.id)
        await tx.sessions.end_others(who.person.id, but=who.session.id)
        await _noted(tx, who, "password changed", now)


async def has_authenticator(platform: Platform, who: SignedIn) -> bool:
    """Tell whether a code is asked for when they sign in."""
    totp = await platform.database.reader.second_factors.totp(who.person.id)
    return totp is not None and totp.confirmed is not None


async def offer_authenticator(
    platform: Platform, who: SignedIn, *, present: str, now: datetime
) -> tuple[str, str]:
    """Make a secret for an authenticator app; give it in words, and as an address.

    With the password: whoever finds a browser open must not lock its owner out. Nothing
    is asked for until a code of it was shown; until then it is made anew.
    """
    if await has_authenticator(platform, who):
        raise Conflict("there is an authenticator already; remove it first")
    await check_password(platform, who, present, now=now)
    secret = secrets.token_bytes(_SECRET_BYTES)
    sealed = platform.sealer.seal(secret, purpose=sign_in.TOTP.format(who.person.id))
    async with platform.database.transaction() as tx:
        await check_signed_in(platform, tx, who)
        await tx.second_factors.keep_totp(who.person.id, sealed)
    words = base64.b32encode(secret).decode()
    label = quote(f"Leyden:{who.person.email}")
    return words, f"otpauth://totp/{label}?secret={words}&issuer=Leyden"


async def confirm_authenticator(
    platform: Platform, who: SignedIn, code: str, *, now: datetime
) -> None:
    """Ask for its codes from now on, once it has shown a right one."""
    email, address = who.person.email, who.session.address
    here = sign_in.in_session(who.session)
    await sign_in.count(platform, email, address, here=here, now=now)
    step = await sign_in.right_step(platform, who.person.id, code, now=now)
    async with platform.database.transaction() as tx:
        await check_signed_in(platform, tx, who)
        if step is None or not await tx.second_factors.use_step(who.person.id, step):
            raise Unauthorized(sign_in.WRONG_CODE)
        await tx.second_factors.confirm_totp(who.person.id, now=now)
        await tx.sessions.end_others(who.person.id, but=who.session.id)
        await _noted(tx, who, "authenticator added", now)


async def remove_authenticator(
    platform: Platform, who: SignedIn, *, present: str, now: datetime
) -> None:
    """Ask for no code any more."""
    await check_password(platform, who, present, now=now)
    async with platform.database.transaction() as tx:
        await check_signed_in(platform, tx, who)
        await tx.second_factors.remove_totp(who.person.id)
        await _noted(tx, who, "authenticator removed", now)


async def check_password(
    platform: Platform, who: SignedIn, present: str, *, now: datetime
) -> None:
    """Ask again, for a browser that was left open; guessing is counted as well."""
    email, address = who.person.email, who.session.address
    here = sign_in.in_session(who.session)
    passwords.check_room()
    await sign_in.count(platform, email, address, here=here, now=now)
    found = await platform.database.reader.people.password(email)
    if not await passwords.is_right(present, found[1] if found else None):
        raise Unauthorized(WRONG)
    async with platform.database.transaction() as tx:
        await sign_in.forgive(platform, tx, email, address, here=here, attempts=1)


async def check_signed_in(platform: Platform, tx: Nouns, who: SignedIn) -> None:
    """Lock the person; raise Unauthorized when this browser is signed out by now."""
    await tx.people.lock(who.person.id)
    now = platform.clock()
    idle = timedelta(seconds=platform.settings.session_idle_s)
    live = await tx.sessions.list_(who.person.id)
    if not any(
        each.id == who.session.id and each.whole and each.is_live(now, idle=idle)
        for each in live
    ):
        raise Unauthorized(ENDED)


async def _noted(tx: Nouns, who: SignedIn, action: str, now: datetime) -> None:
    await tx.audit.add(at=now, actor=who.actor, action=action, subject=who.person.id)
