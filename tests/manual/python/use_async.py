"""A customer's program with an event loop: two nodes and an order at once."""

# ruff: noqa: T201, PT017

import asyncio
import sys

from leyden.client import ApiError
from leyden.client.aio import AsyncClient

SETTINGS = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["127.0.0.1"],
    "alias": "stranger",
    "color": "#336699",
}


async def node_id(leyden: AsyncClient, name: str) -> str:
    made = await leyden.nodes.create(name, settings=SETTINGS)
    return (await leyden.nodes.wait(made.node_id, {"waiting_init"})).node_id


async def follow(
    leyden: AsyncClient, start: str, types: set[str], size: int
) -> set[str]:
    found: set[str] = set()
    async for page in leyden.events.follow(start, types=types):
        for event in page.events:
            found.add(str(event.data.get("order_id") or event.data["node_id"]))
        if len(found) == size:
            break
    return found


async def main(url: str, key: str) -> None:
    async with AsyncClient(url, key) as leyden:
        start = (await leyden.events.page("latest")).cursor
        created = {"node.created", "order.created"}
        seen = asyncio.ensure_future(follow(leyden, start, created, 3))
        try:
            await leyden.flow.quote(7)
        except ApiError as refused:
            assert (refused.code, refused.field) == ("invalid_request", "capacity")
        first, second, order = await asyncio.gather(
            node_id(leyden, "stranger one"),
            node_id(leyden, "stranger two"),
            leyden.flow.create(1_000_000),
        )
        assert await seen == {first, second, order.order_id}
        print((await leyden.key()).organization_name)


asyncio.run(main(*sys.argv[1:]))
