"""Second factors: authenticators, recovery codes and passkeys."""

from collections.abc import Iterable
from datetime import datetime

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound, Taken
from leyden.values import Struct

sql = SqlFile(__file__)


class Totp(Struct, frozen=True, kw_only=True):
    """A person's authenticator app."""

    sealed: bytes
    confirmed: datetime | None
    last_step: int


class Passkey(Struct, frozen=True, kw_only=True):
    """A passkey: a credential on a person's device."""

    id: bytes
    user_id: str
    name: str
    public_key: bytes
    sign_count: int
    created: datetime
    last_used: datetime | None


class SecondFactors:
    """The rows of totp, recovery_code, passkey and used_challenge."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def totp(self, user_id: str) -> Totp | None:
        """Return a person's authenticator, confirmed or not."""
        for sealed, confirmed, last_step in await self._run(sql.totp, user_id=user_id):
            return Totp(
                sealed=sealed,
                confirmed=None if confirmed is None else from_us(confirmed),
                last_step=last_step,
            )
        return None

    async def keep_totp(self, user_id: str, sealed: bytes) -> None:
        """Store a secret to be confirmed; never replace a confirmed one."""
        await self._run(sql.keep_totp, user_id=user_id, sealed=sealed)

    async def confirm_totp(self, user_id: str, *, now: datetime) -> bool:
        """Require codes from now on; return False if they were required before."""
        return bool(await self._run(sql.confirm_totp, user_id=user_id, now=to_us(now)))

    async def use_step(self, user_id: str, step: int) -> bool:
        """Mark a code as used; return False if it, or a later one, was used before."""
        return bool(await self._run(sql.use_step, user_id=user_id, step=step))

    async def remove_totp(self, user_id: str) -> None:
        """Delete the authenticator and recovery codes, which are no longer required."""
        await self._run(sql.remove_totp, user_id=user_id)
        await self._run(sql.remove_recovery_codes, user_id=user_id)

    async def replace_recovery_codes(
        self, user_id: str, digests: Iterable[bytes]
    ) -> None:
        """Store new recovery codes; the previous ones become invalid."""
        await self._run(sql.remove_recovery_codes, user_id=user_id)
        for digest in digests:
            await self._run(sql.add_recovery_code, user_id=user_id, digest=digest)

    async def use_recovery_code(self, user_id: str, digest: bytes) -> bool:
        """Delete a used recovery code; return False if it does not exist."""
        return bool(
            await self._run(sql.use_recovery_code, user_id=user_id, digest=digest)
        )

    async def count_recovery_codes(self, user_id: str) -> int:
        """Count the recovery codes that are not used yet."""
        rows = await self._run(sql.count_recovery_codes, user_id=user_id)
        return int(rows[0][0])

    async def remove_all(self, user_id: str) -> None:
        """Delete all second factors of a person who has lost them."""
        await self.remove_totp(user_id)
        await self.remove_passkeys(user_id)

    async def add_passkey(self, passkey: Passkey) -> None:
        """Store a new passkey; raise Taken if it is known."""
        if not await self._run(
            sql.add_passkey,
            id=passkey.id,
            user_id=passkey.user_id,
            name=passkey.name,
            public_key=passkey.public_key,
            sign_count=passkey.sign_count,
            created=to_us(passkey.created),
        ):
            raise Taken("this passkey is already registered")

    async def find_passkey(self, id_: bytes) -> Passkey | None:
        """Return the passkey with this id, or None."""
        rows = await self._run(sql.find_passkey, id=id_)
        return passkey_of(rows[0]) if rows else None

    async def passkeys(self, user_id: str) -> list[Passkey]:
        """Return a person's passkeys, oldest first."""
        return [
            passkey_of(row) for row in await self._run(sql.passkeys, user_id=user_id)
        ]

    async def used(self, id_: bytes, *, sign_count: int, now: datetime) -> bool:
        """Record a passkey's use; return False if it was removed meanwhile."""
        return bool(
            await self._run(
                sql.passkey_used, id=id_, sign_count=sign_count, now=to_us(now)
            )
        )

    async def remove_passkey(self, user_id: str, id_: bytes) -> None:
        """Delete one of a person's passkeys; raise NotFound if missing."""
        if not await self._run(sql.remove_passkey, user_id=user_id, id=id_):
            raise NotFound

    async def remove_passkeys(self, user_id: str) -> None:
        """Delete all of a person's passkeys."""
        await self._run(sql.remove_passkeys, user_id=user_id)

    async def use_challenge(self, challenge: bytes, *, until: datetime) -> bool:
        """Mark a challenge as used; return False if it was used before."""
        return bool(
            await self._run(sql.use_challenge, challenge=challenge, until=to_us(until))
        )

    async def prune_challenges(self, *, now: datetime, limit: int) -> int:
        """Delete some challenges that have expired; return how many."""
        return len(await self._run(sql.prune_challenges, now=to_us(now), limit=limit))


def passkey_of(row: Row) -> Passkey:
    """Build the passkey from a row."""
    id_, user_id, name, public_key, sign_count, created, last_used = row
    return Passkey(
        id=bytes(id_),
        user_id=user_id,
        name=name,
        public_key=bytes(public_key),
        sign_count=sign_count,
        created=from_us(created),
        last_used=None if last_used is None else from_us(last_used),
    )
