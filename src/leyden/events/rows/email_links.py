"""Single-use links sent by email, and the addresses that they confirm."""

from datetime import datetime
from enum import StrEnum, auto

from leyden.base.database.statements import Run, SqlFile
from leyden.base.rules.times import from_us, to_us
from leyden.values import Struct, hiding

sql = SqlFile(__file__)


class LinkKind(StrEnum):
    """The purpose of a link."""

    CONFIRM = auto()  # confirms an address, or a new one
    RESET = auto()  # resets a password


class EmailLink(Struct, frozen=True, kw_only=True):
    """A link that was sent to a person."""

    digest: bytes
    kind: LinkKind
    user_id: str
    address: str
    browser: bytes | None  # the digest of the cookie of the requesting browser
    password: bytes | None  # the digest of the password hash at that time
    created: datetime
    expires: datetime

    __repr__ = hiding("digest", "browser", "password")


class EmailLinks:
    """The rows of email_link, and person.confirmed."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def add(self, link: EmailLink) -> None:
        """Store a link; a second call changes nothing."""
        await self._run(
            sql.add,
            digest=link.digest,
            kind=link.kind,
            user_id=link.user_id,
            address=link.address,
            browser=link.browser,
            password=link.password,
            created=to_us(link.created),
            expires=to_us(link.expires),
        )

    async def find(
        self, digest: bytes, kind: LinkKind, *, now: datetime
    ) -> EmailLink | None:
        """Return the link if it is still valid."""
        for row in await self._run(sql.find, digest=digest, kind=kind, now=to_us(now)):
            *_, user_id, address, browser, password, created, expires = row
            return EmailLink(
                digest=digest,
                kind=kind,
                user_id=user_id,
                address=address,
                browser=browser,
                password=password,
                created=from_us(created),
                expires=from_us(expires),
            )
        return None

    async def use(self, digest: bytes) -> bool:
        """Mark a link as used; return False if it was used before."""
        return bool(await self._run(sql.use, digest=digest))

    async def end_all(self, user_id: str) -> None:
        """End all links of a person."""
        await self._run(sql.end_all, user_id=user_id)

    async def delete(self, *, now: datetime) -> None:
        """Delete links that have expired."""
        await self._run(sql.delete, now=to_us(now))

    async def confirmed(self, user_id: str) -> datetime | None:
        """Return when a person's address was confirmed; None if it was not."""
        rows = await self._run(sql.confirmed, id=user_id)
        return from_us(rows[0][0]) if rows and rows[0][0] is not None else None

    async def confirm(self, user_id: str, email: str, *, now: datetime) -> None:
        """Record that a person confirmed this address, if it is still theirs."""
        await self._run(sql.confirm, id=user_id, email=email, now=to_us(now))

    async def move(self, user_id: str, email: str, *, now: datetime) -> bool:
        """Change a person's address; return False if another person has it."""
        return bool(await self._run(sql.move, id=user_id, email=email, now=to_us(now)))
