"""Attempts to sign in are counted, by person, address and browser, and limited."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.addresses import rate_limit_key
from leyden.base.rules.sign_in import Session
from leyden.errors import TooMany

_FAILURES = "sign-in failures"
TOGETHER = timedelta(minutes=15)  # failures within it add up
COUNTED_FOR = timedelta(hours=1)  # requests for links and emails
# One address may hide many people, and one person be tried from many addresses.
_PER_ADDRESS = 3
_PER_PERSON = 10


def session_key(session: Session) -> str:
    """Return the key that a signed-in person's failures are counted under."""
    return f"in session {session.id}"


async def count(
    platform: Platform, email: str, address: str, *, here: str = "", now: datetime
) -> None:
    """Count an attempt before it is made, so that parallel ones all count.

    Raise TooMany over the limit. `here` is a known browser or a session: its
    attempts are counted apart, so that the failures of people without the
    password do not lock its owner out.
    """
    counted = _counted(platform, email, address, here)
    await count_all(platform, counted, within=TOGETHER, now=now)


async def count_code(
    platform: Platform, email: str, *, here: str, now: datetime
) -> None:
    """Count a code before it is looked at, wherever it comes from.

    A million codes are few for who has many addresses, or many browsers that signed in
    before there was an authenticator. Nobody gets so far without the password, so no
    stranger can use these attempts up. Those of all known browsers are counted apart:
    who has only the password does not use them up either.
    """
    of_codes = [(_codes(platform, email, here), platform.settings.sign_in_failures)]
    await count_all(platform, of_codes, within=TOGETHER, now=now)


async def forgive_code(platform: Platform, tx: Stores, email: str, here: str) -> None:
    """Uncount a code that was right; those that were wrong stay counted."""
    await tx.sessions.uncount(_codes(platform, email, here))


async def count_all(
    platform: Platform,
    counted: Iterable[tuple[bytes, int]],
    *,
    within: timedelta,
    now: datetime,
) -> None:
    """Count an attempt under each of these keys; raise TooMany over a limit.

    One over a limit is not counted: a stranger who goes on adds no rows.
    """
    waits = []
    async with platform.database.transaction() as tx:
        for who, limit in counted:
            count, since = await tx.sessions.count_failure(who, now=now, within=within)
            if count > limit:
                waits.append(since + within - now)
        if waits:  # raised in the transaction, which ends without the rows
            wait_s = max(1, int(max(waits).total_seconds()))
            raise TooMany(
                f"Too many attempts. Wait {-(-wait_s // 60)} min and try again.",
                retry_after_s=wait_s,
            )


async def forgive(
    platform: Platform,
    tx: Stores,
    email: str,
    address: str,
    *,
    here: str = "",
) -> None:
    """Reset this person's failures here; uncount this attempt elsewhere.

    Shared counters are not reset. Otherwise anybody with an account could
    guess forever, by signing in between.
    """
    (first, _), *wider = _counted(platform, email, address, here)
    await tx.sessions.reset_failures(first)
    for who, _ in wider:
        await tx.sessions.uncount(who)


async def uncount(
    platform: Platform, tx: Stores, email: str, address: str, *, here: str = ""
) -> None:
    """Uncount an attempt that was right, but is not all that is needed."""
    for who, _ in _counted(platform, email, address, here):
        await tx.sessions.uncount(who)


def _codes(platform: Platform, email: str, here: str) -> bytes:
    where = " where known" if here else ""
    what = f"codes of {email}{where}"
    return platform.sealer.digest(what.encode(), purpose=_FAILURES)


def _counted(
    platform: Platform, email: str, address: str, here: str
) -> list[tuple[bytes, int]]:
    """Return the keys that an attempt is counted under, with their limits."""
    allowed = platform.settings.sign_in_failures
    address = rate_limit_key(address)
    # Who has the password may have had it remembered by any number of browsers.
    counted = {
        f"{email} {here}": allowed,
        f"{email} where known": allowed * _PER_PERSON,
    }
    if not here:
        counted = {
            f"{email} from {address}": allowed,
            f"from {address}": allowed * _PER_ADDRESS,
            email: allowed * _PER_PERSON,
        }
    return [
        (platform.sealer.digest(who.encode(), purpose=_FAILURES), limit)
        for who, limit in counted.items()
    ]
