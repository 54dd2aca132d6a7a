"""Letters: emails to one person, queued in the transaction that has a reason for them.

1. Find the letter, and who it is for; one for nobody, or too late, is deleted.
2. Send it, with no transaction open.
3. Delete it; or wait, longer each time, until it is too late.

If killed between 2 and 3, it is sent once more under the same Message-ID.
"""

import logging
from datetime import datetime, timedelta
from typing import Final

import msgspec

from leyden.base.database.secrets import Sealer
from leyden.base.database.stores import Stores
from leyden.base.rules.accounts import new_id
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import EmailAway, EmailRefused
from leyden.events.emailing import PUT_OFF, REFUSALS, Emailing, retry_after
from leyden.events.rows.email_links import EmailLink, LinkKind
from leyden.events.rows.emails import EMAILS, WaitingEmail, email_purpose
from leyden.events.rules.emails import Email, is_address
from leyden.events.rules.letters import Letter, write

RESET: Final = "reset"
LINK: Final = "link of an email"
PASSWORD: Final = "password at a reset"  # noqa: S105  a purpose
_COUNTED: Final = "emails"
_HOUR: Final = timedelta(hours=1)
_PER_ADDRESS: Final = 10  # of a kind, an hour, by any sender
_PER_ORGANIZATION: Final = 60
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Letter).decode

log = logging.getLogger(__name__)


async def queue(
    tx: Stores,
    sealer: Sealer,
    letter: Letter,
    *,
    to: str,
    organization_id: str = "",
    lives: timedelta = timedelta(days=1),
    is_limited: bool = True,
    now: datetime,
) -> bool:
    """Queue a letter; return False if it will not be sent.

    That is: the address is none that mail servers take, or it has got many letters of
    the kind within the hour, or the organization has sent many. Not limited is what a
    person did to their own account: no stranger can use their limit up, and hide it.
    """
    if not is_address(to):
        return False
    # By kind: nobody's invitations keep an address from the link that it has asked for.
    counted = {f"{letter.kind} to {to}": _PER_ADDRESS} if is_limited else {}
    if organization_id:
        counted[f"of {organization_id}"] = _PER_ORGANIZATION
    for what, limit in counted.items():
        who = sealer.digest(what.encode(), purpose=_COUNTED)
        count, _ = await tx.sessions.count_failure(who, now=now, within=_HOUR)
        if count > limit:
            return False
    id_ = new_id()
    await tx.emails.add(
        WaitingEmail(
            id=id_,
            organization_id=organization_id,
            address=to,
            sealed=sealer.seal(_encode(letter), purpose=email_purpose(id_)),
            created=now,
            expires=now + lives,
            attempts=0,
        )
    )
    await tx.tasks.put(EMAILS, id_, due=now)
    return True


async def send(emailing: Emailing, due: ClaimedTask) -> None:
    """Send a letter that waits."""
    waiting = await emailing.database.reader.emails.find(due.key)
    if waiting is None:
        return
    letter = _decode(
        emailing.sealer.open(waiting.sealed, purpose=email_purpose(waiting.id))
    )
    now = emailing.clock()
    if now >= waiting.expires or not await _is_for_somebody(
        emailing, due, waiting, letter
    ):
        await _end(due, waiting, why="too late" if now >= waiting.expires else "")
        return
    with emailing.concurrency.enter(waiting.organization_id) as entered:
        if not entered:
            async with due.transaction() as tx:
                await due.reschedule(tx, due=now + PUT_OFF)
            return
        try:
            await emailing.send(_email(emailing, waiting, letter))
        except EmailRefused as error:
            await _failed(emailing, due, waiting, error, limit=REFUSALS)
        except EmailAway as error:
            await _failed(emailing, due, waiting, error)
        else:
            await _end(due, waiting)


def link_digest(sealer: Sealer, word: str) -> bytes:
    """Return the digest that a link is stored under."""
    return sealer.digest(word.encode(), purpose=LINK)


def password_digest(sealer: Sealer, password_hash: str | None) -> bytes:
    """Return the digest by which a change of the password is noticed."""
    return sealer.digest((password_hash or "").encode(), purpose=PASSWORD)


def _email(emailing: Emailing, waiting: WaitingEmail, letter: Letter) -> Email:
    subject, text = write(letter, origin=emailing.origin)
    return Email(id=waiting.id, to=waiting.address, subject=subject, text=text)


async def _is_for_somebody(
    emailing: Emailing, due: ClaimedTask, waiting: WaitingEmail, letter: Letter
) -> bool:
    """Return whether the recipient exists; a reset gets its link only now.

    The request was answered before we looked up whether the address is known.
    """
    if letter.kind != RESET:
        return True
    found = await emailing.database.reader.people.password(waiting.address)
    if found is None:
        return False
    person, password_hash = found
    link = EmailLink(
        digest=link_digest(emailing.sealer, letter.facts["word"]),
        kind=LinkKind.RESET,
        user_id=person.id,
        address=waiting.address,
        browser=bytes.fromhex(letter.facts["browser"]),
        password=password_digest(emailing.sealer, password_hash),
        created=waiting.created,
        expires=waiting.expires,
    )
    async with due.transaction() as tx:
        await tx.email_links.delete(now=emailing.clock())
        await tx.email_links.add(link)
    return True


async def _failed(
    emailing: Emailing,
    due: ClaimedTask,
    waiting: WaitingEmail,
    error: Exception,
    *,
    limit: int | None = None,
) -> None:
    attempts = waiting.attempts + 1
    again = emailing.clock() + retry_after(attempts)
    if attempts == limit or again >= waiting.expires:
        await _end(due, waiting, why=str(error))
        return
    log.info("email not sent yet", extra={"email": waiting.id, "why": str(error)})
    async with due.transaction() as tx:
        await tx.emails.set_attempts(waiting.id, attempts)
        await due.reschedule(tx, due=again)


async def _end(due: ClaimedTask, waiting: WaitingEmail, *, why: str = "") -> None:
    if why:
        log.warning("email given up", extra={"email": waiting.id, "why": why})
    async with due.transaction() as tx:
        await tx.emails.delete(waiting.id)
        await due.done(tx)
