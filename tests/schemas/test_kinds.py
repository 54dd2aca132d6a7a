"""Values that schemas repeat, because they stand below the rules that have them."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec
import pytest

from leyden.base.rules.accounts import OF_ORGANIZATIONS
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.rules.pricing import NodeTier
from leyden.channels.rules.sources import Source
from leyden.events.rules.deliveries import DeliveryState
from leyden.events.rules.webhooks import WebhookType
from leyden.nodes.rules.nodes import (
    Network,
    NodeStatus,
    NodeType,
    PurchasedType,
    PurchaseStatus,
)
from leyden.schemas.accounts import KeyAnswer
from leyden.schemas.flow import OrderAnswer, OrdersQuery, QuoteAnswer
from leyden.schemas.nodes import NodeItem, NodesQuery
from leyden.schemas.platform import ChannelsOffer
from leyden.schemas.webhooks import DeliveryItem, NodeEvent

OF_ORDERS = [each for each in Source if each.kind is not None]


@pytest.mark.parametrize(
    ("kind", "field", "values"),
    [
        (NodeItem, "status", NodeStatus),
        (NodesQuery, "status", NodeStatus),
        (NodeItem, "network", Network),
        (NodeItem, "type", NodeType),
        (NodeItem, "purchased_type", PurchasedType),
        (NodeItem, "purchase_status", PurchaseStatus),
        (OrderAnswer, "status", OrderStatus),
        (OrdersQuery, "status", OrderStatus),
        (OrderAnswer, "node_tier", NodeTier),
        (QuoteAnswer, "source", OF_ORDERS),
        (ChannelsOffer, "sources", OF_ORDERS),
        (KeyAnswer, "scopes", OF_ORGANIZATIONS),
        (DeliveryItem, "status", DeliveryState),
        (NodeEvent, "type", WebhookType),
    ],
)
def test_a_schema_has_the_values_of_the_rules(
    kind: type[msgspec.Struct], field: str, values: Iterable[StrEnum]
) -> None:
    components = msgspec.json.schema_components([kind])[1]
    of = components[kind.__name__]["properties"][field]
    of = of.get("items", of)
    assert set(of["enum"]) == {each.value for each in values}
