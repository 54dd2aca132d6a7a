"""Passkeys: made and shown by a person's device, bound to this dashboard's name.

A challenge is not kept: it is worked out of a random word that the browser has in a
cookie, and of the time. Whoever signs in gets another cookie, so it works once.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from webauthn import verify_authentication_response, verify_registration_response
from webauthn.helpers import base64url_to_bytes
from webauthn.helpers.exceptions import WebAuthnException

from leyden.domain.accounts import check_name
from leyden.domain.sign_in import Session, SignedIn
from leyden.domain.times import to_us
from leyden.errors import Conflict, Malformed, Unauthorized
from leyden.services import sign_in
from leyden.services.platform import Platform
from leyden.storage.second_factors import Passkey

_PURPOSE = "passkey challenge"
_LIVES = timedelta(minutes=5)
_MOST = 20
WRONG = (
    "That passkey is not known here, or took too long. Try again, or use a password."
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a passkey is made or shown: the name and the addresses of the dashboard."""

    host: str  # with its port

    @property
    def name(self) -> str:
        """Give the name that passkeys are bound to."""
        return self.host.rpartition(":")[0] if ":" in self.host else self.host

    @property
    def origins(self) -> list[str]:
        """Give the addresses that may have asked; browsers say which one did."""
        return [f"https://{self.host}", f"http://{self.host}"]


def challenge(platform: Platform, word: str, *, now: datetime, ago: int = 0) -> bytes:
    """Give the challenge of this browser for the next minutes."""
    span = to_us(now) // (_LIVES // timedelta(microseconds=1)) - ago
    return platform.sealer.digest(f"{span} {word}".encode(), purpose=_PURPOSE)


async def list_(platform: Platform, who: SignedIn) -> list[Passkey]:
    """Give a person's passkeys, oldest first."""
    return await platform.database.reader.second_factors.passkeys(who.person.id)


async def add(
    platform: Platform,
    who: SignedIn,
    credential: str,
    *,
    name: str,
    word: str,
    place: Place,
    now: datetime,
) -> Passkey:
    """Keep a passkey that was made just now; Taken when it is known."""
    if len(await list_(platform, who)) >= _MOST:
        raise Conflict(f"there are {_MOST} passkeys already; remove one first")
    for ago in (0, 1):
        try:
            made = verify_registration_response(
                credential=_read(credential),
                expected_challenge=challenge(platform, word, now=now, ago=ago),
                expected_rp_id=place.name,
                expected_origin=place.origins,
                require_user_verification=True,
            )
        except (WebAuthnException, ValueError, KeyError, TypeError):
            continue
        break
    else:
        raise Malformed("the passkey could not be taken; try again")
    passkey = Passkey(
        id=made.credential_id,
        user_id=who.person.id,
        name=check_name(name, what="name"),
        public_key=made.credential_public_key,
        sign_count=made.sign_count,
        created=now,
        last_used=None,
    )
    async with platform.database.transaction() as tx:
        await tx.second_factors.add_passkey(passkey)
        await tx.audit.add(
            at=now, actor=who.actor, action="passkey added", subject=who.person.id
        )
    return passkey


async def remove(
    platform: Platform, who: SignedIn, passkey_id: str, *, now: datetime
) -> None:
    """Forget a passkey; it opens nothing any more."""
    try:
        id_ = bytes.fromhex(passkey_id)
    except ValueError:
        id_ = b""
    async with platform.database.transaction() as tx:
        await tx.second_factors.remove_passkey(who.person.id, id_)
        await tx.audit.add(
            at=now, actor=who.actor, action="passkey removed", subject=who.person.id
        )


async def enter(
    platform: Platform,
    credential: str,
    *,
    word: str,
    place: Place,
    address: str,
    browser: str,
    now: datetime,
) -> tuple[Session, str]:
    """Begin a session for whoever's passkey this is; it is whole at once."""
    try:
        shown = _read(credential)
        found = await platform.database.reader.second_factors.find_passkey(
            base64url_to_bytes(str(shown["rawId"]))
        )
    except (ValueError, KeyError, TypeError):
        found = None
    count = (
        None if found is None else _verified(platform, found, shown, word, place, now)
    )
    if found is None or count is None:
        raise Unauthorized(WRONG)
    person = await platform.database.reader.people.get(found.user_id)
    async with platform.database.transaction() as tx:
        await tx.people.lock(person.id)
        if not await tx.second_factors.used(found.id, sign_count=count, now=now):
            raise Unauthorized(WRONG)
        return await sign_in.begin(
            platform,
            tx,
            person,
            whole=True,
            address=address,
            browser=browser,
            now=now,
        )


def _verified(
    platform: Platform,
    passkey: Passkey,
    shown: dict[str, object],
    word: str,
    place: Place,
    now: datetime,
) -> int | None:
    for ago in (0, 1):
        try:
            return verify_authentication_response(
                credential=shown,
                expected_challenge=challenge(platform, word, now=now, ago=ago),
                expected_rp_id=place.name,
                expected_origin=place.origins,
                credential_public_key=passkey.public_key,
                credential_current_sign_count=passkey.sign_count,
                require_user_verification=True,
            ).new_sign_count
        except (WebAuthnException, ValueError, KeyError, TypeError):
            continue
    return None


def _read(credential: str) -> dict[str, object]:
    found = json.loads(credential)
    if not isinstance(found, dict):
        raise ValueError(credential[:1])  # noqa: TRY004  not well formed, like the rest
    return found
