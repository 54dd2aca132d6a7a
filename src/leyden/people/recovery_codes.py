"""Recovery codes: for people whose authenticator is lost.

Each completes one sign-in in place of an authenticator code. They are shown
once; we store their digests.
"""

from datetime import datetime

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.people.rules import recovery_codes

_PURPOSE = "recovery code of {}"


async def replace(platform: Platform, tx: Stores, user_id: str) -> tuple[str, ...]:
    """Create a person's recovery codes; the former ones are no longer valid."""
    codes = recovery_codes.new_codes()
    digests = [
        _digest(platform, user_id, letters)
        for code in codes
        if (letters := recovery_codes.parse(code))
    ]
    await tx.second_factors.replace_recovery_codes(user_id, digests)
    return codes


async def use(
    platform: Platform, tx: Stores, user_id: str, typed: str, *, now: datetime
) -> bool:
    """Use up a recovery code; return False if it is wrong or was used before."""
    letters = recovery_codes.parse(typed)
    if letters is None:
        return False
    digest = _digest(platform, user_id, letters)
    if not await tx.second_factors.use_recovery_code(user_id, digest):
        return False
    await tx.audit.add(
        at=now,
        actor=f"user:{user_id}",
        action="recovery code used",
        subject=user_id,
        left=await tx.second_factors.count_recovery_codes(user_id),
    )
    return True


def _digest(platform: Platform, user_id: str, letters: str) -> bytes:
    return platform.sealer.digest(letters.encode(), purpose=_PURPOSE.format(user_id))
