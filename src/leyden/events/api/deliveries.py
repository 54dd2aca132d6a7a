"""Deliveries to an endpoint, as the API shows them."""

from leyden.base.rules.times import to_iso
from leyden.events.rows.subscription_deliveries import Sent
from leyden.events.rows.subscriptions import Subscription
from leyden.events.rules.deliveries import DeliveryState
from leyden.schemas.webhooks import AttemptItem


def failing_since(endpoint: Subscription) -> str:
    """Return since when every attempt has failed; empty if the last one did not."""
    since = endpoint.failing_since
    return to_iso(since) if since is not None else ""


def next_attempt(sent: Sent) -> str:
    """Return when the next attempt is due; empty if none follows."""
    pending = sent.message.state is DeliveryState.PENDING
    return to_iso(sent.message.due) if pending else ""


def attempts(sent: Sent) -> list[AttemptItem]:
    """Build the attempts of a delivery."""
    return [
        AttemptItem(
            time=to_iso(at),
            took_ms=round(answer.took.total_seconds() * 1000),
            status=answer.status,
            answer=answer.excerpt,
            error=answer.error,
        )
        for at, answer in sent.attempts
    ]
