"""Subscriptions: webhook endpoints of an organization."""

import msgspec
from msgspec import UNSET

from leyden.base.http.operations import Request
from leyden.base.rules.times import to_iso
from leyden.errors import Away
from leyden.events import manual_deliveries, owned_subscriptions, subscriptions
from leyden.events.api.deliveries import attempts, failing_since, next_attempt
from leyden.events.dispatchers import Dispatcher
from leyden.events.rows.subscription_deliveries import Sent
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.chat import parse_format
from leyden.events.subscriptions import Wanted
from leyden.schemas.subscriptions import (
    DeletedSubscription,
    EventDeliveriesAnswer,
    EventDelivery,
    NewSubscription,
    NewSubscriptionAnswer,
    ResendFrom,
    SubscriptionChange,
    SubscriptionItem,
    SubscriptionsAnswer,
    SubscriptionSecret,
    TestOfSubscription,
)
from leyden.schemas.webhooks import DeliveriesQuery

_SUFFIX = "S"  # at the end of a subscription's id


async def list_(request: Request) -> SubscriptionsAnswer:
    """List subscriptions."""
    who = request.principal
    found = await owned_subscriptions.list_(
        _dispatcher(request), who.organization_id, who.scopes
    )
    return SubscriptionsAnswer(subscriptions=[_item(each) for each in found])


async def create(request: Request, body: NewSubscription) -> NewSubscriptionAnswer:
    """Create a subscription."""
    who = request.principal
    made, secret = await subscriptions.create(
        _dispatcher(request),
        who.organization_id,
        f"{request.key}{_SUFFIX}",
        Wanted(
            url=body.url,
            format=parse_format(body.format),
            types=body.types,
            description=body.description,
        ),
        scopes=who.scopes,
        actor=who.actor,
    )
    shown = msgspec.structs.asdict(_item(made))
    return NewSubscriptionAnswer(**shown, secret=secret)


async def get(request: Request) -> SubscriptionItem:
    """Return a subscription."""
    who = request.principal
    return _item(
        await owned_subscriptions.get(
            _dispatcher(request).database.reader,
            who.organization_id,
            _id(request),
            who.scopes,
        )
    )


async def change(request: Request, body: SubscriptionChange) -> SubscriptionItem:
    """Change, pause or resume a subscription."""
    who = request.principal
    wanted = Wanted(
        url=None if body.url is UNSET else body.url,
        types=None if body.types is UNSET else body.types,
        description=None if body.description is UNSET else body.description,
        stopped=None if body.paused is UNSET else body.paused,
    )
    changed = await subscriptions.change(
        _dispatcher(request),
        who.organization_id,
        _id(request),
        wanted,
        scopes=who.scopes,
        actor=who.actor,
    )
    return _item(changed)


async def delete(request: Request) -> DeletedSubscription:
    """Delete a subscription."""
    who = request.principal
    await subscriptions.delete(
        _dispatcher(request),
        who.organization_id,
        _id(request),
        scopes=who.scopes,
        actor=who.actor,
    )
    return DeletedSubscription(_id(request))


async def test(request: Request, body: TestOfSubscription) -> EventDelivery:
    """Send a test event to a subscription."""
    who = request.principal
    return _delivery(
        await manual_deliveries.test(
            _dispatcher(request),
            who.organization_id,
            _id(request),
            None if body.type is UNSET else body.type,
            scopes=who.scopes,
            actor=who.actor,
        )
    )


async def resend(request: Request, body: ResendFrom) -> SubscriptionItem:
    """Send everything since an event again."""
    who = request.principal
    return _item(
        await manual_deliveries.resend(
            _dispatcher(request),
            who.organization_id,
            _id(request),
            body.after,
            scopes=who.scopes,
            actor=who.actor,
        )
    )


async def rotate_secret(request: Request) -> SubscriptionSecret:
    """Rotate a subscription's secret."""
    who = request.principal
    rotated = await subscriptions.rotate_secret(
        _dispatcher(request),
        who.organization_id,
        _id(request),
        scopes=who.scopes,
        actor=who.actor,
    )
    return SubscriptionSecret(
        subscription_id=_id(request),
        secret=rotated.secret,
        old_secret_signs_until=to_iso(rotated.old_signs_until),
    )


async def deliveries(request: Request, query: DeliveriesQuery) -> EventDeliveriesAnswer:
    """List what a subscription was sent."""
    who = request.principal
    found, page = await manual_deliveries.deliveries(
        _dispatcher(request),
        who.organization_id,
        _id(request),
        scopes=who.scopes,
        before=query.cursor or None,
        limit=query.limit,
    )
    full = len(page) == query.limit
    return EventDeliveriesAnswer(
        subscription=_item(found),
        deliveries=[_delivery(each) for each in page],
        next_cursor=page[-1].position if full else 0,
        has_more=full,
    )


async def redeliver(request: Request) -> EventDelivery:
    """Send an event to a subscription again."""
    who = request.principal
    return _delivery(
        await manual_deliveries.redeliver(
            _dispatcher(request),
            who.organization_id,
            _id(request),
            request.path["delivery_id"],
            scopes=who.scopes,
            actor=who.actor,
        )
    )


def _id(request: Request) -> str:
    return request.path["subscription_id"]


def _item(shown: Subscription) -> SubscriptionItem:
    reason = "owner" if shown.stopped else shown.pause or ""
    return SubscriptionItem(
        subscription_id=shown.id,
        url=shown.url,
        format=shown.format,
        types=list(shown.types),
        description=shown.description,
        created=to_iso(shown.created),
        status="paused" if reason else "active",
        reason=reason,
        failing_since=failing_since(shown),
    )


def _delivery(sent: Sent) -> EventDelivery:
    message = sent.message
    return EventDelivery(
        delivery_id=message.id,
        type=message.type,
        body=message.body,
        test=message.test,
        created=to_iso(message.created),
        status=message.state,
        next_attempt=next_attempt(sent),
        attempts=attempts(sent),
    )


def _dispatcher(request: Request) -> Dispatcher:
    if (dispatcher := request.platform.dispatcher) is None:
        raise Away("this platform sends no webhooks", retry_after_s=3600)
    return dispatcher
