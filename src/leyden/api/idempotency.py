"""One answer for each Idempotency-Key, however often and whenever it is asked for.

The key is claimed before the handler runs and the answer saved after it. Should the
program die in between, the next request with that key runs the handler once more,
with the same `Request.key`: whatever it makes has the same id and is made once.
"""

import hashlib
import re
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from leyden.domain.accounts import Principal
from leyden.errors import Conflict, LeydenError, Malformed
from leyden.services import quotas
from leyden.services.platform import Platform

_KEY = re.compile(rb"[\x21-\x7e]{1,255}")
_PURPOSE = "saved answer"
# A handler takes seconds at most; whoever is silent for longer has died.
_ABANDONED = timedelta(seconds=60)
# This process. Where there is only ever one, every other holder is a dead one.
HOLDER = uuid.uuid4().hex

# For requests that make nothing.
NO_ID = uuid.UUID(int=0)

Answer = tuple[int, bytes]


def check(header: bytes) -> bytes:
    """Give the header's value, or say what is wrong with it."""
    if not _KEY.fullmatch(header):
        raise Malformed(
            "Idempotency-Key: must be 1 to 255 printable characters without spaces"
        )
    return header


def random_id() -> uuid.UUID:
    """Give an id that nobody has had before."""
    return uuid.uuid4()


def id_for(principal: Principal, key: bytes, request: bytes) -> uuid.UUID:
    """Give the id of what is made under this key: the same each time."""
    digest = hashlib.sha256(
        b"\0".join((principal.organization_id.encode(), key, request))
    )
    return uuid.UUID(bytes=digest.digest()[:16], version=4)


def digest_request(operation: str, body: bytes) -> bytes:
    """Tell one request from another."""
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
    """Give the saved answer, or run and save.

    A request that is refused, or that fails, leaves nothing behind: its key may be
    used again.
    """
    organization_id = principal.organization_id
    under = platform.sealer.digest(key, purpose=_PURPOSE)
    async with platform.database.transaction() as tx:
        saved = await tx.answers.claim(
            organization_id,
            under,
            request=request,
            now=now,
            expires=now + timedelta(seconds=platform.settings.answers_kept_s),
            holder=HOLDER,
        )
        if saved is None:
            limits = quotas.limits(platform.settings)
            await quotas.check_answers(tx, limits, organization_id, now=now)
        else:
            if saved.request != request:
                raise Malformed("Idempotency-Key: was used before with another request")
            if saved.status is not None and saved.body is not None:
                body = platform.sealer.open(
                    saved.body, purpose=f"{_PURPOSE} of {organization_id}"
                )
                return saved.status, body
            alive = saved.holder == HOLDER or not platform.database.is_alone
            if (alive and saved.started > now - _ABANDONED) or (
                not await tx.answers.take_over(
                    organization_id, under, now=now, before=saved.holder, holder=HOLDER
                )
            ):
                raise Conflict(
                    "the first request with this Idempotency-Key is still under way"
                )
    try:
        status, body = await run()
    except LeydenError:
        async with platform.database.transaction() as tx:
            await tx.answers.drop(organization_id, under, holder=HOLDER)
        raise
    sealed = platform.sealer.seal(body, purpose=f"{_PURPOSE} of {organization_id}")
    async with platform.database.transaction() as tx:
        await tx.answers.save(
            organization_id, under, holder=HOLDER, status=status, body=sealed
        )
    return status, body
