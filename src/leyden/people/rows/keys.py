"""API keys: their digests and scopes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache

from leyden.base.database.statements import Row, Run, SqlFile
from leyden.base.rules.accounts import ApiKey, Principal, Scope
from leyden.base.rules.times import from_us, to_us
from leyden.errors import NotFound, Taken

sql = SqlFile(__file__)

ENDED_KEPT = 100


class Keys:
    """The rows of api_key."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, key: ApiKey, *, digest: bytes) -> None:
        """Store a new key under its digest; raise Taken if its id is in use."""
        if not await self._run(
            sql.add,
            id=key.id,
            organization_id=key.organization_id,
            name=key.name,
            hint=key.hint,
            digest=digest,
            scopes=",".join(sorted(key.scopes)),
            created=to_us(key.created),
            expires=to_us(key.expires) if key.expires else None,
        ):
            raise Taken("this key was already created, and shown then")

    async def principal(self, digest: bytes, *, now: datetime) -> Principal | None:
        """Return the principal of the valid key with this digest, if any."""
        for row in await self._run(sql.principal, digest=digest, now=to_us(now)):
            organization_id, key_id, scopes = row
            return Principal(organization_id, key_id, _scopes(scopes))
        return None

    async def list_(self, organization_id: str) -> list[ApiKey]:
        """Return an organization's keys, revoked ones too, oldest first."""
        rows = await self._run(sql.list, organization_id=organization_id)
        return [key_of(row) for row in rows]

    async def expiring(
        self, *, now: datetime, within: timedelta, limit: int
    ) -> list[ApiKey]:
        """Return keys that expire within this time, and were not announced yet.

        Keys with a shorter lifetime than that are not included.
        """
        rows = await self._run(
            sql.expiring,
            now=to_us(now),
            before=to_us(now + within),
            notice=within // timedelta(microseconds=1),
            limit=limit,
        )
        return [key_of(row) for row in rows]

    async def count_live(self, organization_id: str, *, now: datetime) -> int:
        """Count the valid keys."""
        rows = await self._run(
            sql.count_live, organization_id=organization_id, now=to_us(now)
        )
        return int(rows[0][0])

    async def delete_ended(self, organization_id: str, *, now: datetime) -> None:
        """Delete ended keys except the latest; the audit log has them all."""
        await self._run(
            sql.delete_ended,
            organization_id=organization_id,
            now=to_us(now),
            limit=ENDED_KEPT,
        )

    async def revoke(self, organization_id: str, key_id: str, *, now: datetime) -> None:
        """Revoke a key of this organization; raise NotFound if none is valid."""
        if not await self._run(
            sql.revoke, organization_id=organization_id, id=key_id, now=to_us(now)
        ):
            raise NotFound

    async def used(self, at: Mapping[str, datetime]) -> None:
        """Record when each of these keys was last used; never go back in time."""
        # In a fixed order, so that servers that record the same keys never deadlock.
        await self._run.many(
            sql.used,
            [{"id": key_id, "used": to_us(at[key_id])} for key_id in sorted(at)],
        )


@lru_cache(maxsize=64)
def _scopes(words: str) -> frozenset[Scope]:
    return frozenset(Scope(word) for word in words.split(","))


def key_of(row: Row) -> ApiKey:
    """Build the key from a row."""
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
