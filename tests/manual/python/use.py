"""A customer's program: create a node, order a channel, follow what happens."""

# ruff: noqa: T201, PT017

import sys

from leyden.client import ApiError, Client

SETTINGS = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["127.0.0.1"],
    "alias": "stranger",
    "color": "#336699",
}


def main(url: str, key: str) -> None:
    with Client(url, key) as leyden:
        start = leyden.events.page("latest").cursor
        node = leyden.nodes.create("stranger in python", settings=SETTINGS)
        leyden.nodes.wait(node.node_id, {"waiting_init"})
        try:
            leyden.flow.quote(7)
        except ApiError as refused:
            assert (refused.code, refused.field) == ("invalid_request", "capacity")
            assert refused.request_id
        quote = leyden.flow.quote(1_000_000)
        order = leyden.flow.create(1_000_000, key="a-strangers-order")
        assert order.total_fee == quote.total_fee
        wanted = {("node.created", node.node_id), ("order.created", order.order_id)}
        for page in leyden.events.follow(start):
            for event in page.events:
                of = event.data.get("order_id") or event.data.get("node_id")
                wanted.discard((event.type, of))
            if not wanted:
                break
        print(leyden.key().organization_name)


main(*sys.argv[1:])
