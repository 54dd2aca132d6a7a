"""Passkeys: created and used by a person's device, for one domain.

A challenge is not stored until it is answered: it is random, with a keyed
digest over the random part, the browser's cookie and the time. Once
answered it is stored until it expires, so that it works once.
"""

import hmac
import json
import re
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeVar, cast
from urllib.parse import urlsplit

from webauthn import verify_authentication_response, verify_registration_response
from webauthn.helpers import base64url_to_bytes, parse_cbor

from leyden.base.database.stores import Stores
from leyden.base.http.parsing import PARSING
from leyden.base.platform import Platform
from leyden.base.rules.accounts import check_name
from leyden.base.rules.sign_in import Session, SignedIn
from leyden.base.rules.times import to_us
from leyden.errors import Conflict, Malformed, TooMany, Unauthorized
from leyden.people import profile, sign_in
from leyden.people.rows.second_factors import Passkey
from leyden.values import Struct

_Verified = TypeVar("_Verified")

_PURPOSE = "passkey challenge"
_LIVES = timedelta(minutes=5)
_RANDOM_BYTES = 16
_LIMIT = 20
WRONG = (
    "This passkey is unknown, or the sign-in took too long. Try again, or use your "
    "password."
)
_NOT_TAKEN = "could not add this passkey; try again"
_NOT_WELL_FORMED = (ValueError, KeyError, TypeError, RecursionError)
_LONGEST = 16 * 1024  # what devices show has 1 to 4 KiB
# CBOR's tag 29, however long its number is written; by chance random bytes have one.
_REFERENCE: Final = re.compile(rb"\xd8\x1d|\xd9\0\x1d|\xda\0{3}\x1d|\xdb\0{7}\x1d")
_MAX_REFERENCES: Final = 2


class RelyingParty(Struct, frozen=True, kw_only=True):
    """The dashboard's configured address, to which passkeys are bound."""

    origin: str

    @property
    def name(self) -> str:
        """The domain that passkeys are bound to."""
        return urlsplit(self.origin).hostname or ""


def challenge(platform: Platform, word: str, *, now: datetime) -> bytes:
    """Return a new challenge for this browser, valid for some minutes."""
    return _marked(platform, word, secrets.token_bytes(_RANDOM_BYTES), span=_span(now))


def _marked(platform: Platform, word: str, random: bytes, *, span: int) -> bytes:
    made_of = f"{span} {word} ".encode() + random
    return random + platform.sealer.digest(made_of, purpose=_PURPOSE)


def _span(now: datetime) -> int:
    return to_us(now) // (_LIVES // timedelta(microseconds=1))


def _answered(
    platform: Platform, shown: dict[str, object], word: str, now: datetime
) -> bytes:
    """Return the challenge that was answered; raise ValueError if not ours."""
    response = shown["response"]
    if not isinstance(response, dict):
        raise ValueError("response")  # noqa: TRY004  not well formed, like the rest
    client = _read(base64url_to_bytes(str(response["clientDataJSON"])))
    found = base64url_to_bytes(str(client["challenge"]))
    for ago in (0, 1):
        random, span = found[:_RANDOM_BYTES], _span(now) - ago
        if hmac.compare_digest(found, _marked(platform, word, random, span=span)):
            return found
    raise ValueError("challenge")


async def _use_up(tx: Stores, answered: bytes, *, now: datetime) -> bool:
    """Invalidate a challenge; return False if it was used already."""
    return await tx.second_factors.use_challenge(answered, until=now + 2 * _LIVES)


async def list_(platform: Platform, who: SignedIn) -> list[Passkey]:
    """Return a person's passkeys, oldest first."""
    return await platform.database.reader.second_factors.passkeys(who.person.id)


async def add(
    platform: Platform,
    who: SignedIn,
    credential: str,
    *,
    name: str,
    present: str,
    word: str,
    relying_party: RelyingParty,
    now: datetime,
) -> Passkey:
    """Store a new passkey, given the password; raise Taken if known."""
    await profile.check_password(platform, who, present, now=now)
    try:
        shown = _read(credential)
        answered = _answered(platform, shown, word, now)
        made = await _verified(
            who.person.id,
            shown,
            partial(
                verify_registration_response,
                credential=shown,
                expected_challenge=answered,
                expected_rp_id=relying_party.name,
                expected_origin=relying_party.origin,
                require_user_verification=True,
            ),
        )
    except _NOT_WELL_FORMED:
        raise Malformed(_NOT_TAKEN) from None
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
        await profile.check_signed_in(platform, tx, who)
        if len(await tx.second_factors.passkeys(who.person.id)) >= _LIMIT:
            raise Conflict(f"you already have {_LIMIT} passkeys; remove one first")
        if not await _use_up(tx, answered, now=now):
            raise Malformed(_NOT_TAKEN)
        await tx.second_factors.add_passkey(passkey)
        await tx.audit.add(
            at=now, actor=who.actor, action="passkey added", subject=who.person.id
        )
    return passkey


async def remove(
    platform: Platform, who: SignedIn, passkey_id: str, *, now: datetime
) -> None:
    """Delete a passkey, and end all other sessions: it may be stolen."""
    try:
        id_ = bytes.fromhex(passkey_id)
    except ValueError:
        id_ = b""
    async with platform.database.transaction() as tx:
        await profile.check_signed_in(platform, tx, who)
        await tx.second_factors.remove_passkey(who.person.id, id_)
        await tx.sessions.end_others(who.person.id, but=who.session.id)
        await tx.audit.add(
            at=now, actor=who.actor, action="passkey removed", subject=who.person.id
        )


async def enter(
    platform: Platform,
    credential: str,
    *,
    word: str,
    relying_party: RelyingParty,
    address: str,
    browser: str,
    known: str = "",
    now: datetime,
) -> tuple[Session, str]:
    """Start a session for the passkey's owner; no second factor needed."""
    try:
        shown = _read(credential)
        answered = _answered(platform, shown, word, now)
        found = await platform.database.reader.second_factors.find_passkey(
            base64url_to_bytes(str(shown["rawId"]))
        )
        if found is None:
            raise Unauthorized(WRONG)
        verified = await _verified(
            found.user_id,
            shown,
            partial(
                verify_authentication_response,
                credential=shown,
                expected_challenge=answered,
                expected_rp_id=relying_party.name,
                expected_origin=relying_party.origin,
                credential_public_key=found.public_key,
                credential_current_sign_count=found.sign_count,
                require_user_verification=True,
            ),
        )
    except _NOT_WELL_FORMED:
        raise Unauthorized(WRONG) from None
    whose = await platform.database.reader.people.get(found.user_id)
    async with platform.database.transaction() as tx:
        await tx.people.lock(whose.id)
        if not await _use_up(tx, answered, now=now):
            raise Unauthorized(WRONG)
        count = verified.new_sign_count
        if not await tx.second_factors.used(found.id, sign_count=count, now=now):
            raise Unauthorized(WRONG)
        return await sign_in.begin(
            platform,
            tx,
            whose,
            is_complete=True,
            address=address,
            browser=browser,
            known=known,
            now=now,
        )


async def _verified(
    owner: str, shown: dict[str, object], verify: Callable[[], _Verified]
) -> _Verified:
    """Verify in a thread, on the person's turn; raise ValueError for any error."""

    def work() -> _Verified:
        _check_references(shown)
        return verify()

    try:
        return await PARSING.run(owner, work)
    except TooMany:
        raise
    except Exception as error:  # a stranger's bytes may trip it in any way
        raise ValueError("not verified") from error


def _check_references(shown: dict[str, object]) -> None:
    """Raise ValueError for CBOR with references to references.

    The library encodes the CBOR that it has decoded once more: 9 KiB of references
    become gigabytes.
    """
    response = cast("dict[str, object]", shown["response"])
    if attestation := response.get("attestationObject"):
        data = parse_cbor(base64url_to_bytes(str(attestation)))["authData"]
    else:
        data = base64url_to_bytes(str(response["authenticatorData"]))
    if len(_REFERENCE.findall(data)) > _MAX_REFERENCES:
        raise ValueError("references")


def _read(credential: str | bytes) -> dict[str, object]:
    if len(credential) > _LONGEST:
        raise ValueError("too long")
    found = json.loads(credential)
    if not isinstance(found, dict):
        raise ValueError("not an object")  # noqa: TRY004  not well formed, like the rest
    return found
