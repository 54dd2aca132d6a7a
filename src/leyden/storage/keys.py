"""API keys: their digests, and what each may do."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from leyden.domain.accounts import ApiKey, Principal, Scope
from leyden.domain.times import from_us, to_us
from leyden.errors import NotFound, Taken
from leyden.storage.statements import Row, Run
from leyden.storage.written import keys as sql

ENDED_KEPT = 100


class Keys:
    """The rows of api_key."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, key: ApiKey, *, digest: bytes) -> None:
        """Keep a new key under its digest; Taken when its id is in use."""
        if not await self._run(
            sql.ADD,
            id=key.id,
            organization_id=key.organization_id,
            name=key.name,
            hint=key.hint,
            digest=digest,
            scopes=",".join(sorted(key.scopes)),
            created=to_us(key.created),
            expires=to_us(key.expires) if key.expires else None,
            last_used=None,
            revoked=None,
        ):
            raise Taken("this key was made already, and was shown then")

    async def speaker(self, digest: bytes, *, now: datetime) -> Principal | None:
        """Give on whose behalf the key with this digest speaks, if it is a live one."""
        for speaker in await self._run(sql.SPEAKER, digest=digest):
            principal = _principal(*speaker)
            return None if principal.has_ended(now) else principal
        return None

    async def list_(self, organization_id: str) -> list[ApiKey]:
        """Give an organization's keys, oldest first, the revoked ones too."""
        rows = await self._run(sql.LIST, organization_id=organization_id)
        return [_key(row) for row in rows]

    async def count_live(self, organization_id: str, *, now: datetime) -> int:
        """Count the keys that open something."""
        rows = await self._run(
            sql.COUNT_LIVE, organization_id=organization_id, now=to_us(now)
        )
        return int(rows[0][0])

    async def forget_ended(self, organization_id: str, *, now: datetime) -> None:
        """Forget those that have ended, but for the latest: the audit has them all."""
        await self._run(
            sql.FORGET_ENDED, of=organization_id, now=to_us(now), kept=ENDED_KEPT
        )

    async def revoke(self, organization_id: str, key_id: str, *, now: datetime) -> None:
        """End a live key of this organization; NotFound when there is none such."""
        if not await self._run(
            sql.REVOKE, of=organization_id, key_id=key_id, now=to_us(now)
        ):
            raise NotFound

    async def used(self, at: Mapping[str, datetime]) -> None:
        """Note when each of these keys was last used; a later use is not undone."""
        # In one order, so that servers that note the same keys never lock crosswise.
        await self._run.many(
            sql.USED,
            [{"key_id": key_id, "used": to_us(at[key_id])} for key_id in sorted(at)],
        )


@lru_cache(maxsize=4096)
def _principal(
    organization_id: str, key_id: str, scopes: str, expires: int | None
) -> Principal:
    until = from_us(expires) if expires is not None else None
    return Principal(organization_id, key_id, _scopes(scopes), until)


@lru_cache(maxsize=64)
def _scopes(words: str) -> frozenset[Scope]:
    return frozenset(Scope(word) for word in words.split(","))


def _key(row: Row) -> ApiKey:
    id_, organization_id, name, hint, scopes, created, expires, used, revoked = row
    return ApiKey(
        id=id_,
        organization_id=organization_id,
        name=name,
        hint=hint,
        scopes=_scopes(scopes),
        created=from_us(created),
        expires=from_us(expires) if expires is not None else None,
        last_used=from_us(used) if used is not None else None,
        revoked=from_us(revoked) if revoked is not None else None,
    )
