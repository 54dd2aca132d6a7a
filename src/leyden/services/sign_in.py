"""Signing in: a password, a second factor where there is one, then a session.

A session is known by a random word in a cookie, of which we keep the digest. It gets a
new one whenever it comes to mean more, so that planting one in a browser gains nothing.
"""

import hmac
import secrets
from datetime import datetime, timedelta

from leyden.domain.accounts import Person, check_email, new_id
from leyden.domain.addresses import counted_as
from leyden.domain.sign_in import Session, SignedIn, totp_step
from leyden.errors import Malformed, TooMany, Unauthorized
from leyden.services import passwords
from leyden.services.platform import Platform
from leyden.storage.nouns import Nouns

WRONG = "That address and password do not belong together."
ENDED = "This sign-in has ended meanwhile. Sign in again."
WRONG_CODE = "That code is not right, or was used before. Wait for the next one."

_COOKIE = "session"
_FAILURES = "sign-in failures"
_BROWSER = "known browser"
TOTP = "authenticator of {}"
_TOGETHER = timedelta(minutes=15)  # failures within it add up
# One address may hide many people, and one person be tried from many addresses.
_PER_ADDRESS = 3
_PER_PERSON = 10
_SEEN_EVERY = timedelta(minutes=1)
_HALF_LIVES = timedelta(minutes=10)  # a sign-in that waits for its second factor
_LONGEST_BROWSER = 200


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
    """Give a new session and its cookie; Unauthorized tells nobody who exists.

    Where the person has an authenticator, the session is not whole yet. `known` is the
    word of a browser that somebody has signed in with before.
    """
    try:
        email = check_email(email)
    except Malformed:
        raise Unauthorized(WRONG) from None
    passwords.check_room()  # before it is counted: it is no fault of theirs
    here = _here(platform, email, known)
    await count(platform, email, address, here=here, now=now)
    found = await platform.database.reader.people.password(email)
    person, kept = found if found is not None else (None, None)
    right = await passwords.is_right(password, kept)
    if person is None or not right:
        raise Unauthorized(WRONG)
    async with platform.database.transaction() as tx:
        # A password may have been changed while this one was looked at, which is slow.
        await tx.people.lock(person.id)
        if await tx.people.password(email) != found:
            raise Unauthorized(WRONG)
        totp = await tx.second_factors.totp(person.id)
        whole = totp is None or totp.confirmed is None
        if whole:
            await forgive(platform, tx, email, address, here=here, attempts=1)
        return await begin(
            platform,
            tx,
            person,
            whole=whole,
            address=address,
            browser=browser,
            now=now,
        )


async def begin(
    platform: Platform,
    tx: Nouns,
    person: Person,
    *,
    whole: bool,
    address: str,
    browser: str,
    now: datetime,
) -> tuple[Session, str]:
    """Begin a session; the caller has made sure who it is."""
    cookie = secrets.token_urlsafe(32)
    lives = timedelta(seconds=platform.settings.session_lives_s)
    session = Session(
        id=new_id(),
        user_id=person.id,
        created=now,
        seen=now,
        expires=now + (lives if whole else _HALF_LIVES),
        whole=whole,
        address=address,
        browser="".join(c for c in browser if c.isprintable())[:_LONGEST_BROWSER],
    )
    await tx.sessions.forget(now=now, start=now - _TOGETHER)
    await tx.second_factors.forget_challenges(now=now)
    await tx.sessions.add(session, digest=_digest(platform, cookie))
    await tx.sessions.bound(person.id)
    if whole:
        await tx.audit.add(
            at=now, actor=f"user:{person.id}", action="signed in", subject=session.id
        )
    return session, cookie


async def second_factor(
    platform: Platform, session: Session, code: str, *, known: str = "", now: datetime
) -> tuple[Session, str]:
    """Make a session whole by a code of the authenticator; each code works once."""
    reader = platform.database.reader
    person = await reader.people.get(session.user_id)
    here = _here(platform, person.email, known)
    await count(platform, person.email, session.address, here=here, now=now)
    step = await right_step(platform, person.id, code, now=now)
    async with platform.database.transaction() as tx:
        # What began with a password may have ended with it while the code was typed.
        await tx.people.lock(person.id)
        if not await tx.sessions.end(person.id, session.id):
            raise Unauthorized(ENDED)
        if step is None or not await tx.second_factors.use_step(person.id, step):
            raise Unauthorized(WRONG_CODE)
        await forgive(
            platform, tx, person.email, session.address, here=here, attempts=2
        )
        return await begin(
            platform,
            tx,
            person,
            whole=True,
            address=session.address,
            browser=session.browser,
            now=now,
        )


async def right_step(
    platform: Platform, user_id: str, code: str, *, now: datetime
) -> int | None:
    """Give the step that a person's code is of, if it is a right one."""
    totp = await platform.database.reader.second_factors.totp(user_id)
    if totp is None:
        return None
    secret = platform.sealer.open(totp.sealed, purpose=TOTP.format(user_id))
    digits = "".join(code.split())
    return totp_step(secret, digits, now=now, last_step=totp.last_step)


async def find(platform: Platform, cookie: str, *, now: datetime) -> SignedIn | None:
    """Give who is at the browser with this cookie, if their session is a live one."""
    reader = platform.database.reader
    session = await reader.sessions.find(_digest(platform, cookie))
    idle = timedelta(seconds=platform.settings.session_idle_s)
    if session is None or not session.is_live(now, idle=idle):
        return None
    if now - session.seen >= _SEEN_EVERY:
        async with platform.database.transaction() as tx:
            await tx.sessions.seen(session.id, now=now)
    return SignedIn(
        person=await reader.people.get(session.user_id),
        session=session,
        belongs_to=await reader.people.belongs_to(session.user_id),
        is_operator=await reader.people.is_operator(session.user_id),
    )


async def sign_out(platform: Platform, session: Session) -> None:
    """End a session; its cookie opens nothing any more."""
    async with platform.database.transaction() as tx:
        await tx.sessions.end(session.user_id, session.id)


def form_token(platform: Platform, cookie: str) -> str:
    """Give the word that forms carry, which no other site can know."""
    return platform.sealer.digest(cookie.encode(), purpose="form token").hex()[:32]


def known_browser(platform: Platform, email: str) -> str:
    """Return the word by which a browser is known that this person signed in with.

    It opens nothing. But whoever shows it is not made to wait for what others get
    wrong: at the same address, or with the same person's name from anywhere.
    """
    random = secrets.token_hex(16)
    return f"{random}.{_mark(platform, email, random)}"


def _mark(platform: Platform, email: str, random: str) -> str:
    made_of = f"{random} {email}".encode()
    return platform.sealer.digest(made_of, purpose=_BROWSER).hex()[:32]


def _here(platform: Platform, email: str, known: str) -> str:
    """Return as what a known browser's failures are counted; empty is any other's."""
    random, _, mark = known.partition(".")
    right = hmac.compare_digest(mark.encode(), _mark(platform, email, random).encode())
    return f"in browser {random}" if right else ""


def in_session(session: Session) -> str:
    """Return as what the failures of somebody who is signed in are counted."""
    return f"in session {session.id}"


async def count(
    platform: Platform, email: str, address: str, *, here: str = "", now: datetime
) -> None:
    """Count the attempt before it is made: many at once are many.

    `here` is a browser that is known, or signed in: what is tried there is counted
    there alone, so that nobody else's failures keep its owner out.
    """
    waits = []
    async with platform.database.transaction() as tx:
        for who, limit in _counted(platform, email, address, here):
            count, since = await tx.sessions.failed(who, now=now, start=now - _TOGETHER)
            if count > limit:
                waits.append(since + _TOGETHER - now)
    if waits:
        wait_s = max(1, int(max(waits).total_seconds()))
        raise TooMany(
            f"That was tried too often. Wait {-(-wait_s // 60)} min and try again.",
            retry_after_s=wait_s,
        )


async def forgive(
    platform: Platform,
    tx: Nouns,
    email: str,
    address: str,
    *,
    here: str = "",
    attempts: int,
) -> None:
    """Forget this person's failures here; to the others' this adds nothing.

    Whoever has an account could otherwise guess without end, signing in between.
    """
    (first, _), *wider = _counted(platform, email, address, here)
    await tx.sessions.forgive(first)
    for who, _ in wider:
        await tx.sessions.take_back(who, attempts=attempts)


def _counted(
    platform: Platform, email: str, address: str, here: str
) -> list[tuple[bytes, int]]:
    """Return as what an attempt is counted, and how many of each may fail."""
    most = platform.settings.sign_in_failures
    address = counted_as(address)
    counted = {f"{email} {here}": most}
    if not here:
        counted = {
            f"{email} from {address}": most,
            f"from {address}": most * _PER_ADDRESS,
            email: most * _PER_PERSON,
        }
    return [
        (platform.sealer.digest(who.encode(), purpose=_FAILURES), limit)
        for who, limit in counted.items()
    ]


def _digest(platform: Platform, cookie: str) -> bytes:
    return platform.sealer.digest(cookie.encode(), purpose=_COOKIE)
