"""Authenticators and passkeys: what a person has, beside what they know."""

from datetime import datetime

from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound, Taken
from leyden.storage.statements import Row, Run
from leyden.storage.written import second_factors as sql
from leyden.values import Struct


class Totp(Struct, frozen=True, kw_only=True):
    """A person's authenticator app."""

    sealed: bytes
    confirmed: datetime | None
    last_step: int


class Passkey(Struct, frozen=True, kw_only=True):
    """A credential in somebody's device."""

    id: bytes
    user_id: str
    name: str
    public_key: bytes
    sign_count: int
    created: datetime
    last_used: datetime | None


class SecondFactors:
    """The rows of totp, passkey and used_challenge."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def totp(self, user_id: str) -> Totp | None:
        """Give a person's authenticator, confirmed or not."""
        for sealed, confirmed, last_step in await self._run(sql.TOTP, user_id=user_id):
            return Totp(
                sealed=sealed,
                confirmed=None if confirmed is None else from_us(confirmed),
                last_step=last_step,
            )
        return None

    async def keep_totp(self, user_id: str, sealed: bytes) -> None:
        """Keep a secret that is to be confirmed; never in place of a confirmed one."""
        await self._run(
            sql.KEEP_TOTP, user_id=user_id, sealed=sealed, confirmed=None, last_step=0
        )

    async def confirm_totp(self, user_id: str, *, now: datetime) -> None:
        """Ask for its codes from now on."""
        await self._run(sql.CONFIRM, of=user_id, now=to_us(now))

    async def use_step(self, user_id: str, step: int) -> bool:
        """Take a code; False when it, or a later one, was taken before."""
        return bool(await self._run(sql.USE_STEP, of=user_id, step=step))

    async def remove_totp(self, user_id: str) -> None:
        """Ask for no code any more."""
        await self._run(sql.REMOVE_TOTP, user_id=user_id)

    async def remove_all(self, user_id: str) -> None:
        """Forget all of a person's second factors: they have lost them."""
        await self._run(sql.REMOVE_TOTP, user_id=user_id)
        await self.remove_passkeys(user_id)

    async def add_passkey(self, passkey: Passkey) -> None:
        """Keep a new passkey; Taken when it is known."""
        if not await self._run(
            sql.ADD,
            id=passkey.id,
            user_id=passkey.user_id,
            name=passkey.name,
            public_key=passkey.public_key,
            sign_count=passkey.sign_count,
            created=to_us(passkey.created),
            last_used=None,
        ):
            raise Taken("this passkey is known already")

    async def find_passkey(self, id_: bytes) -> Passkey | None:
        """Give the passkey with this id, if it is known."""
        rows = await self._run(sql.FIND, id=id_)
        return _passkey(rows[0]) if rows else None

    async def passkeys(self, user_id: str) -> list[Passkey]:
        """Give a person's passkeys, oldest first."""
        return [_passkey(row) for row in await self._run(sql.LIST, user_id=user_id)]

    async def used(self, id_: bytes, *, sign_count: int, now: datetime) -> bool:
        """Note that it opened a session; False when it was removed meanwhile."""
        return bool(
            await self._run(
                sql.USED, passkey_id=id_, sign_count=sign_count, now=to_us(now)
            )
        )

    async def remove_passkey(self, user_id: str, id_: bytes) -> None:
        """Forget one of a person's passkeys; NotFound when there is none such."""
        if not await self._run(sql.REMOVE, user_id=user_id, passkey_id=id_):
            raise NotFound

    async def remove_passkeys(self, user_id: str) -> None:
        """Forget all of a person's passkeys."""
        await self._run(sql.REMOVE_PASSKEYS, user_id=user_id)

    async def use_challenge(self, challenge: bytes, *, until: datetime) -> bool:
        """Take a challenge that was answered; False when it was taken before."""
        return bool(
            await self._run(sql.USE_CHALLENGE, challenge=challenge, until=to_us(until))
        )

    async def forget_challenges(self, *, now: datetime) -> None:
        """Forget those that are too old to be answered."""
        await self._run(sql.FORGET_CHALLENGES, now=to_us(now))


def _passkey(row: Row) -> Passkey:
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
