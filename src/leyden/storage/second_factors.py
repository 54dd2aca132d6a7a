"""Authenticators and passkeys: what a person has, beside what they know."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert as insert_once

from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound, Taken
from leyden.storage.statements import Row, Run
from leyden.storage.tables_people import passkeys, totps, used_challenges

_TOTP = select(totps.c.sealed, totps.c.confirmed, totps.c.last_step).where(
    totps.c.user_id == bindparam("user_id")
)
_KEEP = insert_once(totps)
_KEEP_TOTP = _KEEP.on_conflict_do_update(
    index_elements=["user_id"],
    set_={"sealed": _KEEP.excluded.sealed, "last_step": _KEEP.excluded.last_step},
    where=totps.c.confirmed.is_(None),
)
_CONFIRM = (
    update(totps)
    .where(totps.c.user_id == bindparam("of"), totps.c.confirmed.is_(None))
    .values(confirmed=bindparam("now"))
)
_USE_STEP = (
    update(totps)
    .where(totps.c.user_id == bindparam("of"), totps.c.last_step < bindparam("step"))
    .values(last_step=bindparam("step"))
    .returning(totps.c.user_id)
)
_REMOVE_TOTP = delete(totps).where(totps.c.user_id == bindparam("user_id"))

_ADD = insert_once(passkeys).on_conflict_do_nothing().returning(passkeys.c.id)
_FIND = select(passkeys).where(passkeys.c.id == bindparam("id"))
_LIST = (
    select(passkeys)
    .where(passkeys.c.user_id == bindparam("user_id"))
    .order_by(passkeys.c.created)
)
_USED = (
    update(passkeys)
    .where(passkeys.c.id == bindparam("passkey_id"))
    .values(sign_count=bindparam("sign_count"), last_used=bindparam("now"))
    .returning(passkeys.c.id)
)
_REMOVE = (
    delete(passkeys)
    .where(
        passkeys.c.user_id == bindparam("user_id"),
        passkeys.c.id == bindparam("passkey_id"),
    )
    .returning(passkeys.c.id)
)
_REMOVE_PASSKEYS = delete(passkeys).where(passkeys.c.user_id == bindparam("user_id"))

_USE_CHALLENGE = (
    insert_once(used_challenges)
    .on_conflict_do_nothing()
    .returning(used_challenges.c.challenge)
)
_FORGET_CHALLENGES = delete(used_challenges).where(
    used_challenges.c.until < bindparam("now")
)


@dataclass(frozen=True, kw_only=True)
class Totp:
    """A person's authenticator app."""

    sealed: bytes
    confirmed: datetime | None
    last_step: int


@dataclass(frozen=True, kw_only=True)
class Passkey:
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
        for sealed, confirmed, last_step in await self._run(_TOTP, user_id=user_id):
            return Totp(
                sealed=sealed,
                confirmed=None if confirmed is None else from_us(confirmed),
                last_step=last_step,
            )
        return None

    async def keep_totp(self, user_id: str, sealed: bytes) -> None:
        """Keep a secret that is to be confirmed; never in place of a confirmed one."""
        await self._run(
            _KEEP_TOTP, user_id=user_id, sealed=sealed, confirmed=None, last_step=0
        )

    async def confirm_totp(self, user_id: str, *, now: datetime) -> None:
        """Ask for its codes from now on."""
        await self._run(_CONFIRM, of=user_id, now=to_us(now))

    async def use_step(self, user_id: str, step: int) -> bool:
        """Take a code; False when it, or a later one, was taken before."""
        return bool(await self._run(_USE_STEP, of=user_id, step=step))

    async def remove_totp(self, user_id: str) -> None:
        """Ask for no code any more."""
        await self._run(_REMOVE_TOTP, user_id=user_id)

    async def remove_all(self, user_id: str) -> None:
        """Forget all of a person's second factors: they have lost them."""
        await self._run(_REMOVE_TOTP, user_id=user_id)
        await self.remove_passkeys(user_id)

    async def add_passkey(self, passkey: Passkey) -> None:
        """Keep a new passkey; Taken when it is known."""
        if not await self._run(
            _ADD,
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
        rows = await self._run(_FIND, id=id_)
        return _passkey(rows[0]) if rows else None

    async def passkeys(self, user_id: str) -> list[Passkey]:
        """Give a person's passkeys, oldest first."""
        return [_passkey(row) for row in await self._run(_LIST, user_id=user_id)]

    async def used(self, id_: bytes, *, sign_count: int, now: datetime) -> bool:
        """Note that it opened a session; False when it was removed meanwhile."""
        return bool(
            await self._run(
                _USED, passkey_id=id_, sign_count=sign_count, now=to_us(now)
            )
        )

    async def remove_passkey(self, user_id: str, id_: bytes) -> None:
        """Forget one of a person's passkeys; NotFound when there is none such."""
        if not await self._run(_REMOVE, user_id=user_id, passkey_id=id_):
            raise NotFound

    async def remove_passkeys(self, user_id: str) -> None:
        """Forget all of a person's passkeys."""
        await self._run(_REMOVE_PASSKEYS, user_id=user_id)

    async def use_challenge(self, challenge: bytes, *, until: datetime) -> bool:
        """Take a challenge that was answered; False when it was taken before."""
        return bool(
            await self._run(_USE_CHALLENGE, challenge=challenge, until=to_us(until))
        )

    async def forget_challenges(self, *, now: datetime) -> None:
        """Forget those that are too old to be answered."""
        await self._run(_FORGET_CHALLENGES, now=to_us(now))


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
