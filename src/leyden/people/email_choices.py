"""Which events a person gets emails about, for each of their organizations.

Nothing before their address is confirmed. Then the important ones, until they choose.
Operators choose among the alarms of the installation, too.
"""

import hmac
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from leyden.base.database.stores import Stores
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role, new_id
from leyden.base.rules.sign_in import SignedIn, scopes_of
from leyden.errors import Conflict, Malformed, NotFound
from leyden.events import event_emails
from leyden.events import log as event_log
from leyden.events.rows.email_subscriptions import EmailSubscription
from leyden.events.rows.subscriptions import SUBSCRIPTIONS, Subscription, secret_purpose
from leyden.events.rules.chat import Format
from leyden.events.rules.events import ALARMS, INSTALLATION, TYPES, types_of, visible
from leyden.people import profile
from leyden.values import Struct, replace

NOT_CONFIRMED: Final = "Confirm your email address first."
_INSTALLATION: Final = "This installation"
# Events after which somebody should act.
IMPORTANT: Final = frozenset(
    {
        *("node.failed", "node.out_of_order_block", "node.certificate_expiring"),
        *("backup.missing", "backup.stale"),
        *("order.failed", "payment.returned"),
        *("channel.lease_ending", "channel.closed_early"),
        *("channel.lease_extending", "channel.lease_not_extended"),
        *("key.expiring", "login.new_device"),
        *ALARMS,
    }
)


class Choice(Struct, frozen=True, kw_only=True):
    """An organization's types of events that a person may choose, and has chosen."""

    organization_id: str
    name: str
    types: Mapping[str, str]  # with what each is about
    chosen: Collection[str]
    refused: bool  # their mail server does not take them


async def list_(platform: Platform, who: SignedIn) -> list[Choice]:
    """Return what the person may choose, for each of their organizations."""
    reader = platform.database.reader
    choices = {
        each.organization_id: await reader.subscriptions.find(each.subscription_id)
        for each in await reader.email_subscriptions.list_(who.person.id)
    }
    found = []
    for organization_id, (name, types) in _offered(who).items():
        present = choices.get(organization_id)
        stopped = present is None or present.stopped
        found.append(
            Choice(
                organization_id=organization_id,
                name=name,
                types={
                    each: _briefly(types_of(organization_id)[each].about)
                    for each in sorted(types)
                },
                chosen=() if stopped or present is None else present.types,
                refused=present is not None and present.pause is not None,
            )
        )
    return found


async def choose(
    platform: Platform,
    who: SignedIn,
    organization_id: str,
    types: Collection[str],
    *,
    now: datetime,
) -> None:
    """Store what the person gets emails about; nothing ends them.

    Of types that they did not get before, they get what happens from now on, unless
    something else is waiting before that.
    """
    offered = _offered(who).get(organization_id)
    if offered is None:
        raise NotFound
    types = frozenset(types)
    if not offered[1].issuperset(types):
        raise Malformed("types: must be types that your role can see")
    # Not in the transaction: the log may be long.
    choices = await _choices(platform, who.person.id, organization_id)
    end = None
    if choices is not None:
        end = await event_log.end_without(
            platform.database.reader,
            organization_id,
            offered[1].intersection(choices.types),
            after=choices.position,
        )
    async with platform.database.transaction() as tx:
        await profile.check_signed_in(platform, tx, who)
        if await tx.email_links.confirmed(who.person.id) is None:
            raise Conflict(NOT_CONFIRMED)
        present = await _find(tx, who.person.id, organization_id)
        if present is None:
            if types:
                await _add(platform, tx, who.person.id, organization_id, types, now=now)
            return
        # The log before the task, as an event locks them, and that before its row, as
        # the dispatcher does.
        last = await tx.events.lock(organization_id, now=now)
        await tx.tasks.put(SUBSCRIPTIONS, present, due=now)
        before = await tx.subscriptions.lock(present)
        await tx.subscriptions.change(
            replace(
                before.without_failures(),
                types=tuple(sorted(types)) or before.types,
                stopped=not types,
            )
        )
        position = before.position
        if before.stopped:  # what happened meanwhile is not told
            position = last
            await tx.email_subscriptions.hold(present, 0)
        elif end is not None and before == choices and not types.issubset(before.types):
            position = end
        moved = position != before.position
        if before.stopped or before.pause is not None or moved:
            await tx.subscriptions.move(present, position, attempts=0, due=now)


async def unsubscribe(platform: Platform, subscription_id: str, word: str) -> None:
    """End emails about an organization, for who has their link; again is no-op."""
    expected = event_emails.unsubscribe_word(platform.sealer, subscription_id)
    if not hmac.compare_digest(expected.encode(), word.encode()):
        raise NotFound(
            "This link is not valid. Choose your emails on your account page."
        )
    async with platform.database.transaction() as tx:
        if await tx.email_subscriptions.find(subscription_id) is None:
            return
        await tx.tasks.put(SUBSCRIPTIONS, subscription_id, due=platform.clock())
        before = await tx.subscriptions.lock(subscription_id)
        await tx.subscriptions.change(replace(before, stopped=True))


async def subscribe_to_all(
    platform: Platform, tx: Stores, user_id: str, *, now: datetime
) -> None:
    """Subscribe a person whose address is confirmed to what is important.

    What they have chosen before stays. Last of all in the transaction.
    """
    roles = {
        each.organization.id: each.role for each in await tx.people.memberships(user_id)
    }
    every = [*roles, *([INSTALLATION] * await tx.people.is_operator(user_id))]
    for organization_id in sorted(every):
        await subscribe(
            platform, tx, user_id, organization_id, roles.get(organization_id), now=now
        )


async def subscribe(
    platform: Platform,
    tx: Stores,
    user_id: str,
    organization_id: str,
    role: Role | None,
    *,
    now: datetime,
) -> None:
    """Subscribe a person to what is important, unless they have chosen before."""
    types = IMPORTANT & event_emails.visible_types(organization_id, role)
    if types and await _find(tx, user_id, organization_id) is None:
        await _add(platform, tx, user_id, organization_id, types, now=now)


async def resume(tx: Stores, user_id: str, *, now: datetime) -> None:
    """Send to a new address what waits, also what the former one refused."""
    for each in await tx.email_subscriptions.list_(user_id):
        # The task before its row, as the dispatcher locks them.
        await tx.tasks.put(SUBSCRIPTIONS, each.subscription_id, due=now)
        before = await tx.subscriptions.lock(each.subscription_id)
        await tx.subscriptions.change(before.without_failures())
        await tx.subscriptions.move(before.id, before.position, attempts=0, due=now)


async def leave(tx: Stores, user_id: str, organization_id: str) -> None:
    """End a former member's emails."""
    present = await _find(tx, user_id, organization_id)
    if present is not None:
        await tx.subscriptions.delete(present)


def _briefly(text: str) -> str:
    """Return what a type is about, without what programs need to know."""
    return text.partition(";")[0].partition(":")[0].rstrip(".")


def _offered(who: SignedIn) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the name of each organization, and the types that the person may see."""
    found = {
        each.organization.id: (
            each.organization.name,
            visible(scopes_of(each.role), known=TYPES),
        )
        for each in who.memberships
    }
    if who.is_operator:
        found[INSTALLATION] = (_INSTALLATION, frozenset(ALARMS))
    return {id_: each for id_, each in found.items() if each[1]}


async def _find(tx: Stores, user_id: str, organization_id: str) -> str | None:
    for each in await tx.email_subscriptions.list_(user_id):
        if each.organization_id == organization_id:
            return each.subscription_id
    return None


async def _choices(
    platform: Platform, user_id: str, organization_id: str
) -> Subscription | None:
    reader = platform.database.reader
    present = await _find(reader, user_id, organization_id)
    return None if present is None else await reader.subscriptions.find(present)


async def _add(
    platform: Platform,
    tx: Stores,
    user_id: str,
    organization_id: str,
    types: Collection[str],
    *,
    now: datetime,
) -> None:
    id_ = f"{new_id()}{event_emails.SUFFIX}"
    last = await tx.events.lock(organization_id, now=now)
    await tx.subscriptions.add(
        Subscription(
            id=id_,
            organization_id=organization_id,
            url="",
            description="",
            types=tuple(sorted(types)),
            created=now,
            # A row has one; emails need none.
            sealed_secret=platform.sealer.seal(b"", purpose=secret_purpose(id_)),
            sealed_old_secret=None,
            old_secret_until=None,
            failing_since=None,
            pause=None,
            stopped=False,
            position=last,
            attempts=0,
            due=now,
            format=Format.EMAIL,
        )
    )
    await tx.email_subscriptions.add(
        EmailSubscription(
            subscription_id=id_,
            user_id=user_id,
            organization_id=organization_id,
            hour_began=now,
            hour_sent=0,
            sending_to=0,
        )
    )
