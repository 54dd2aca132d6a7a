"""Signing in: password, second factor if set up, then a session.

A session is identified by a random token in a cookie; we store its digest.
The token changes whenever the session gains rights, so that planting one in
a browser gains nothing.
"""

import hmac
import secrets
from datetime import datetime, timedelta
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Person, check_email, new_id
from leyden.base.rules.sign_in import Session, SignedIn, totp_step
from leyden.base.rules.times import Clock
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import Malformed, Unauthorized
from leyden.people import attempts, passwords, people_events, recovery_codes

FORGETTING: Final = "forget sign-ins"  # a kind of task
WRONG = "Wrong email or password."
ENDED = "Your sign-in timed out. Sign in again."
WRONG_CODE = "This code is wrong or was already used. Enter the next code."

_COOKIE = "session"
_BROWSER = "known browser"
TOTP = "authenticator of {}"
_SEEN_EVERY = timedelta(minutes=1)
_HALF_LIVES = timedelta(minutes=10)  # a sign-in that waits for its second factor
_LONGEST_BROWSER = 200
_PRUNE_EVERY = timedelta(hours=1)
_DELETED_AT_ONCE = 500


async def sign_in(
    platform: Platform,
    email: str,
    password: str,
    *,
    address: str,
    browser: str,
    known: str = "",
    now: datetime,
) -> tuple[Session, str]:
    """Return a new session and its cookie, or raise Unauthorized.

    The error does not reveal whether the person exists. If the person has an
    authenticator, the session is not whole yet. `known` is the token of a
    browser in which the person signed in before.
    """
    try:
        email = check_email(email)
    except Malformed:
        raise Unauthorized(WRONG) from None
    passwords.check_room(address)  # before it is counted: it is no fault of theirs
    here = _browser_key(platform, email, known)
    await attempts.count(platform, email, address, here=here, now=now)
    found = await platform.database.reader.people.password(email)
    person, password_hash = found if found is not None else (None, None)
    right = await passwords.is_right(password, password_hash, address=address)
    if person is None or not right:
        raise Unauthorized(WRONG)
    async with platform.database.transaction() as tx:
        # A password may have been changed while this one was looked at, which is slow.
        await tx.people.lock(person.id)
        if await tx.people.password(email) != found:
            raise Unauthorized(WRONG)
        totp = await tx.second_factors.totp(person.id)
        is_complete = totp is None or totp.confirmed is None
        if is_complete:
            await attempts.forgive(platform, tx, email, address, here=here)
        else:
            await attempts.uncount(platform, tx, email, address, here=here)
        return await begin(
            platform,
            tx,
            person,
            is_complete=is_complete,
            address=address,
            browser=browser,
            known=known,
            now=now,
        )


async def begin(
    platform: Platform,
    tx: Stores,
    person: Person,
    *,
    is_complete: bool,
    address: str,
    browser: str,
    known: str = "",
    now: datetime,
) -> tuple[Session, str]:
    """Start a session; the caller has authenticated the person.

    Their organizations are told, unless they signed in in this browser before.
    """
    cookie = secrets.token_urlsafe(32)
    lives = timedelta(seconds=platform.settings.session_lives_s)
    session = Session(
        id=new_id(),
        user_id=person.id,
        created=now,
        last_seen=now,
        expires=now + (lives if is_complete else _HALF_LIVES),
        is_complete=is_complete,
        address=address,
        browser="".join(c for c in browser if c.isprintable())[:_LONGEST_BROWSER],
    )
    await tx.sessions.add(session, digest=_digest(platform, cookie))
    await tx.sessions.limit_sessions(person.id, is_complete=is_complete)
    if is_complete:
        await tx.audit.add(
            at=now, actor=f"user:{person.id}", action="signed in", subject=session.id
        )
        if not _browser_key(platform, person.email, known):
            for each in await tx.people.memberships(person.id):
                event = people_events.of_new_device(each.organization.id, session)
                tx.events.add(event, at=now)
    return session, cookie


async def second_factor(
    platform: Platform, session: Session, code: str, *, known: str = "", now: datetime
) -> tuple[Session, str]:
    """Complete a session with an authenticator or recovery code; each works once."""
    reader = platform.database.reader
    person = await reader.people.get(session.user_id)
    here = _browser_key(platform, person.email, known)
    await attempts.count(platform, person.email, session.address, here=here, now=now)
    await attempts.count_code(platform, person.email, here=here, now=now)
    step = await verify_code(platform, person.id, code, now=now)
    async with platform.database.transaction() as tx:
        # What began with a password may have ended with it while the code was typed.
        await tx.people.lock(person.id)
        if not await tx.sessions.end(person.id, session.id):
            raise Unauthorized(ENDED)
        if not (
            await use_step(tx, person.id, step)
            or await recovery_codes.use(platform, tx, person.id, code, now=now)
        ):
            raise Unauthorized(WRONG_CODE)
        await attempts.forgive(platform, tx, person.email, session.address, here=here)
        await attempts.forgive_code(platform, tx, person.email, here)
        return await begin(
            platform,
            tx,
            person,
            is_complete=True,
            address=session.address,
            browser=session.browser,
            known=known,
            now=now,
        )


async def verify_code(
    platform: Platform, user_id: str, code: str, *, now: datetime
) -> int | None:
    """Return the time step of a person's code; None if the code is wrong."""
    totp = await platform.database.reader.second_factors.totp(user_id)
    if totp is None:
        return None
    secret = platform.sealer.open(totp.sealed, purpose=TOTP.format(user_id))
    digits = "".join(code.split())
    return totp_step(secret, digits, now=now, last_step=totp.last_step)


async def use_step(tx: Stores, user_id: str, step: int | None) -> bool:
    """Use up a code by its step; return False if it is wrong or was used before."""
    return step is not None and await tx.second_factors.use_step(user_id, step)


async def find(platform: Platform, cookie: str, *, now: datetime) -> SignedIn | None:
    """Return the person signed in with this cookie; None if not valid."""
    reader = platform.database.reader
    session = await reader.sessions.find(_digest(platform, cookie))
    if session is None or not _is_live(platform, session, now=now):
        return None
    if now - session.last_seen >= _SEEN_EVERY:
        async with platform.database.transaction() as tx:
            await tx.sessions.record_use(session.id, now=now)
    return SignedIn(
        person=await reader.people.get(session.user_id),
        session=session,
        memberships=await reader.people.memberships(session.user_id),
        is_operator=await reader.people.is_operator(session.user_id),
    )


def _is_live(platform: Platform, session: Session, *, now: datetime) -> bool:
    idle = timedelta(seconds=platform.settings.session_idle_s)
    return session.is_live(now, idle=idle)


async def sign_out(platform: Platform, session: Session) -> None:
    """End a session; its cookie is no longer valid."""
    async with platform.database.transaction() as tx:
        await tx.sessions.end(session.user_id, session.id)


async def prune(due: ClaimedTask, *, clock: Clock) -> None:
    """Delete expired sessions and challenges, and old counts of failures."""
    now = clock()
    async with due.transaction() as tx:
        deleted = (
            await tx.sessions.prune(now=now, limit=_DELETED_AT_ONCE),
            await tx.sessions.prune_failures(
                before=now - attempts.COUNTED_FOR, limit=_DELETED_AT_ONCE
            ),
            await tx.second_factors.prune_challenges(now=now, limit=_DELETED_AT_ONCE),
        )
        more = _DELETED_AT_ONCE in deleted
        await due.reschedule(tx, due=now if more else now + _PRUNE_EVERY)


def form_token(platform: Platform, cookie: str) -> str:
    """Return the CSRF token for forms, which no other site can know."""
    return platform.sealer.digest(cookie.encode(), purpose="form token").hex()[:32]


def known_browser(platform: Platform, email: str) -> str:
    """Return a token that marks a browser in which this person signed in.

    The token grants no access. But a browser that sends it is not delayed by
    other people's failures: from the same address, or with the same person's
    email from anywhere.
    """
    random = secrets.token_hex(16)
    return f"{random}.{_mark(platform, email, random)}"


def _mark(platform: Platform, email: str, random: str) -> str:
    made_of = f"{random} {email}".encode()
    return platform.sealer.digest(made_of, purpose=_BROWSER).hex()[:32]


def _browser_key(platform: Platform, email: str, known: str) -> str:
    """Return the key for a known browser's failures; empty if unknown."""
    random, _, mark = known.partition(".")
    right = hmac.compare_digest(mark.encode(), _mark(platform, email, random).encode())
    return f"in browser {random}" if right else ""


def _digest(platform: Platform, cookie: str) -> bytes:
    return platform.sealer.digest(cookie.encode(), purpose=_COOKIE)
