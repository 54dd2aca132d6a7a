"""A person's authenticator app, and the recovery codes that come with it."""

import base64
import binascii
import hmac
import secrets
from datetime import datetime
from urllib.parse import quote

from leyden.base.platform import Platform
from leyden.base.rules.sign_in import SignedIn
from leyden.errors import Conflict, Unauthorized
from leyden.people import attempts, profile, recovery_codes, sign_in
from leyden.values import Struct

_SECRET_BYTES = 20  # what authenticator apps expect with SHA-1
_EXISTS = "You already have an authenticator app. Remove it first."
_ADDED = (
    "Your authenticator app was added. If you did not see your recovery codes, "
    "create new ones."
)
_NONE = "You have no authenticator app. Add one first."


class Authenticator(Struct, frozen=True, kw_only=True):
    """Whether a person signs in with codes, and how many recovery codes are left."""

    exists: bool
    recovery_codes: int


class NewAuthenticator(Struct, frozen=True, kw_only=True):
    """The secret of a new authenticator, as text and as a URI."""

    secret: str
    uri: str

    def __repr__(self) -> str:
        return "Offer()"


async def get(platform: Platform, who: SignedIn) -> Authenticator:
    """Return whether signing in requires a code of the person's authenticator."""
    factors = platform.database.reader.second_factors
    totp = await factors.totp(who.person.id)
    return Authenticator(
        exists=totp is not None and totp.confirmed is not None,
        recovery_codes=await factors.count_recovery_codes(who.person.id),
    )


async def offer(
    platform: Platform, who: SignedIn, *, present: str, now: datetime
) -> NewAuthenticator:
    """Create an authenticator secret.

    The password is required: somebody who finds an open browser must not lock
    its owner out. Codes are required only after the first one was confirmed;
    until then each call creates a new secret.
    """
    if (await get(platform, who)).exists:
        raise Conflict(_EXISTS)
    await profile.check_password(platform, who, present, now=now)
    secret = secrets.token_bytes(_SECRET_BYTES)
    sealed = platform.sealer.seal(secret, purpose=sign_in.TOTP.format(who.person.id))
    async with platform.database.transaction() as tx:
        await profile.check_signed_in(platform, tx, who)
        await tx.second_factors.keep_totp(who.person.id, sealed)
    return _offer(who, secret)


async def offered(
    platform: Platform, who: SignedIn, secret: str
) -> NewAuthenticator | None:
    """Return the offer again to a page that has it; None if it is not valid.

    Only the page that was given the secret can send it: somebody who finds an
    open browser does not learn it here.
    """
    totp = await platform.database.reader.second_factors.totp(who.person.id)
    if totp is None or totp.confirmed is not None:
        return None
    try:
        sent = base64.b32decode(secret)
    except (binascii.Error, ValueError):
        return None
    opened = platform.sealer.open(
        totp.sealed, purpose=sign_in.TOTP.format(who.person.id)
    )
    return _offer(who, opened) if hmac.compare_digest(sent, opened) else None


async def confirm(
    platform: Platform, who: SignedIn, code: str, *, now: datetime
) -> tuple[str, ...]:
    """Require codes from now on, given a valid first one; return recovery codes."""
    email, address = who.person.email, who.session.address
    here = attempts.session_key(who.session)
    await attempts.count(platform, email, address, here=here, now=now)
    step = await sign_in.verify_code(platform, who.person.id, code, now=now)
    async with platform.database.transaction() as tx:
        await profile.check_signed_in(platform, tx, who)
        totp = await tx.second_factors.totp(who.person.id)
        # Before the code: a form that is sent twice has used it up.
        if totp is not None and totp.confirmed is not None:
            raise Conflict(_ADDED)
        if not await sign_in.use_step(tx, who.person.id, step):
            raise Unauthorized(sign_in.WRONG_CODE)
        await tx.second_factors.confirm_totp(who.person.id, now=now)
        await attempts.forgive(platform, tx, email, address, here=here)
        await tx.sessions.end_others(who.person.id, but=who.session.id)
        await profile.note(tx, who, "authenticator added", now)
        return await recovery_codes.replace(platform, tx, who.person.id)


async def remove(
    platform: Platform, who: SignedIn, *, present: str, now: datetime
) -> None:
    """Remove the authenticator: codes are no longer required."""
    await profile.check_password(platform, who, present, now=now)
    async with platform.database.transaction() as tx:
        await profile.check_signed_in(platform, tx, who)
        await tx.second_factors.remove_totp(who.person.id)
        await profile.note(tx, who, "authenticator removed", now)


async def new_recovery_codes(
    platform: Platform, who: SignedIn, *, present: str, now: datetime
) -> tuple[str, ...]:
    """Create recovery codes; the former ones are no longer valid."""
    if not (await get(platform, who)).exists:
        raise Conflict(_NONE)
    await profile.check_password(platform, who, present, now=now)
    async with platform.database.transaction() as tx:
        await profile.check_signed_in(platform, tx, who)
        totp = await tx.second_factors.totp(who.person.id)
        if totp is None or totp.confirmed is None:
            raise Conflict(_NONE)
        await profile.note(tx, who, "recovery codes replaced", now)
        return await recovery_codes.replace(platform, tx, who.person.id)


def _offer(who: SignedIn, secret: bytes) -> NewAuthenticator:
    words = base64.b32encode(secret).decode()
    label = quote(f"Leyden:{who.person.email}")
    uri = f"otpauth://totp/{label}?secret={words}&issuer=Leyden"
    return NewAuthenticator(secret=words, uri=uri)
