"""A node called "harbour light", as the tests of its life need it."""

from datetime import UTC, datetime
from typing import Any

from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.nodes import Network, Node, NodeStatus, NodeType
from leyden.nodes.rules.versions import OFFERED

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_node(status: NodeStatus = NodeStatus.PROVISIONING, **changes: Any) -> Node:
    return Node(
        **{
            "id": "0b5c3d1e-7a44-4c39-9a0e-0c1f2b7d9e55N",
            "organization_id": "harbour",
            "name": "harbour light",
            "network": Network.TESTNET,
            "type": NodeType.STANDARD,
            "version": OFFERED.default,
            "settings": some_settings(),
            "api_endpoint": "harbour-light-0b5c3d1e.nodes.localhost",
            "slot": 7,
            "created": NOON,
            "due": NOON,
            "status": status,
            **changes,
        }
    )


def some_settings(**changes: Any) -> NodeSettings:
    return NodeSettings(
        **{
            "autopilot": False,
            "grpc": True,
            "rest": True,
            "keysend": True,
            "whitelist": ("127.0.0.1",),
            "alias": "harbour light",
            "color": "#ff9900",
            **changes,
        }
    )
