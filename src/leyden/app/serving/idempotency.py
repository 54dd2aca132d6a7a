"""Idempotency: one response per Idempotency-Key.

The key is claimed before the handler runs, and the response is saved after
it. If the process dies in between, the claim expires after some seconds, and
the next request with that key runs the handler again with the same
`Request.key`: whatever it creates has the same id and is created once. That
also holds if a request of another process takes longer than its claim.
"""

import hashlib
import re
import uuid
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from datetime import datetime, timedelta

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rows.answers import PURPOSE, Saved
from leyden.base.rules.accounts import Principal
from leyden.base.rules.times import is_recent
from leyden.errors import InProgress, KeyReused, LeydenError, Malformed
from leyden.people import quotas

_KEY = re.compile(rb"[\x21-\x7e]{1,255}")
# A request that takes longer is taken for one whose process has died.
ABANDONED = timedelta(seconds=15)
_RETRY_AFTER_S = 5
_Key = tuple[str, bytes]  # the caller, and the key's digest

# This process, and the keys under which it answers at the moment.
HOLDER = uuid.uuid4().hex
_running: set[_Key] = set()

# For requests that make nothing.
NO_ID = uuid.UUID(int=0)

Answer = tuple[int, bytes]


def check(header: bytes) -> bytes:
    """Return the header's value; raise Malformed if it is not valid."""
    if not _KEY.fullmatch(header):
        raise Malformed(
            "Idempotency-Key: must be 1 to 255 printable characters without spaces"
        )
    return header


def random_id() -> uuid.UUID:
    """Return a new random id."""
    return uuid.uuid4()


def id_for(principal: Principal, key: bytes, request: bytes) -> uuid.UUID:
    """Compute the id of what is created under this key; always the same."""
    digest = hashlib.sha256(
        b"\0".join((principal.organization_id.encode(), key, request))
    )
    return uuid.UUID(bytes=digest.digest()[:16], version=4)


def digest_request(operation: str, body: bytes) -> bytes:
    """Compute a digest that identifies a request."""
    return hashlib.sha256(operation.encode() + b"\0" + body).digest()


async def answer_once(
    platform: Platform,
    principal: Principal,
    key: bytes,
    request: bytes,
    *,
    now: datetime,
    run: Callable[[], Awaitable[Answer]],
) -> Answer:
    """Return the saved response, or run the handler and save its response.

    A request that is rejected or fails leaves nothing behind: its key can
    be used again.
    """
    organization_id = principal.organization_id
    under = platform.sealer.digest(key, purpose=PURPOSE)
    mine = organization_id, under
    with ExitStack() as marks:
        async with platform.database.transaction() as tx:
            saved = await _claim(platform, tx, mine, request, now=now)
            if saved is not None:
                return saved
            # Marked before anybody sees the claim: nobody here takes us for dead.
            _running.add(mine)
            marks.callback(_running.discard, mine)
        return await _answer(platform, mine, run)


async def _claim(
    platform: Platform, tx: Stores, mine: _Key, request: bytes, *, now: datetime
) -> Answer | None:
    """Claim the key, or return the response saved under it."""
    saved = await tx.answers.claim(
        *mine,
        request=request,
        now=now,
        expires=now + timedelta(seconds=platform.settings.answers_kept_s),
        holder=HOLDER,
    )
    if saved is None:
        limits = quotas.limits(platform.settings)
        await quotas.check_answers(tx, limits, mine[0], now=now)
        return None
    if saved.request != request:
        raise KeyReused
    if saved.status is not None and saved.body is not None:
        body = platform.sealer.open(saved.body, purpose=f"{PURPOSE} of {mine[0]}")
        return saved.status, body
    if _is_in_progress(platform, mine, saved, now) or (
        not await tx.answers.take_over(
            *mine, now=now, before=saved.holder, holder=HOLDER
        )
    ):
        raise InProgress(retry_after_s=_RETRY_AFTER_S)
    return None


def _is_in_progress(
    platform: Platform, mine: _Key, saved: Saved, now: datetime
) -> bool:
    """Return whether the request that claimed the key may still complete.

    We know about our own requests. Another process is taken for dead when its
    claim is old, or when no other process can exist.
    """
    if saved.holder == HOLDER:
        return mine in _running
    return not platform.database.is_alone and is_recent(
        saved.started, now=now, within=ABANDONED
    )


async def _answer(
    platform: Platform, mine: _Key, run: Callable[[], Awaitable[Answer]]
) -> Answer:
    try:
        status, body = await run()
    except LeydenError:
        async with platform.database.transaction() as tx:
            await tx.answers.drop(*mine, holder=HOLDER)
        raise
    sealed = platform.sealer.seal(body, purpose=f"{PURPOSE} of {mine[0]}")
    async with platform.database.transaction() as tx:
        await tx.answers.save(*mine, holder=HOLDER, status=status, body=sealed)
    return status, body
