"""Deliveries of webhooks as commands print them."""

from collections.abc import Iterable
from typing import Any

import msgspec

from leyden.base.cli.output import print_fields, print_json, print_rows
from leyden.schemas.subscriptions import EventDelivery
from leyden.schemas.webhooks import DeliveryItem


def print_delivery(delivery: DeliveryItem | EventDelivery, *, as_json: bool) -> None:
    """Print a delivery with its attempts."""
    if as_json:
        print_json(delivery)
        return
    print_fields(_row(delivery))
    print_rows(
        (msgspec.structs.asdict(each) for each in delivery.attempts),
        empty="no attempts yet",
    )


def print_deliveries(found: Iterable[DeliveryItem | EventDelivery]) -> None:
    """Print a list of deliveries."""
    print_rows(
        map(_row, found), empty="no deliveries yet", spare=("created", "attempts")
    )


def _row(delivery: DeliveryItem | EventDelivery) -> dict[str, Any]:
    return {
        "delivery_id": delivery.delivery_id,
        **_event(delivery),
        "created": delivery.created,
        "status": delivery.status,
        "attempts": len(delivery.attempts),
    }


def _event(delivery: DeliveryItem | EventDelivery) -> dict[str, str]:
    """Return what it was about: a node's details are all that there is to it."""
    if isinstance(delivery, EventDelivery):
        return {"type": delivery.type}
    details = (f"{name} {value}" for name, value in delivery.event.details.items())
    return {"event": f"{delivery.event.type}: {', '.join(details)}"}
