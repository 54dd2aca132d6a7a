"""`leyden mcp`, driven by the client of the protocol's own package, over pipes."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from leyden.customer import node_settings
from tests.client.served_platform import ServedPlatform

LEYDEN = str(Path(sys.executable).with_name("leyden"))
READING = {
    *("list_nodes", "show_node", "list_orders", "show_order", "quote_channel"),
    *("list_events", "show_credit"),
}
ACTING = {"order_channel", "create_node", "start_node", "stop_node"}
CAPACITY = 1_000_000
Talk = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def talk(platform: ServedPlatform, tmp_path: Path) -> Callable[..., Any]:
    """Talk to a `leyden mcp` with these options."""

    def run(step: Talk, *options: str) -> Any:
        server = StdioServerParameters(
            command=LEYDEN,
            args=["mcp", *options],
            env={
                "HOME": str(tmp_path),
                "PATH": os.environ["PATH"],
                "LEYDEN_HOME": str(tmp_path / "home"),
                "LEYDEN_URL": platform.url,
                "LEYDEN_KEY": platform.key,
            },
        )

        async def connected() -> Any:
            async with Client(server) as client:
                return await step(client)

        return asyncio.run(asyncio.wait_for(connected(), 60))

    return run


def with_budget(satoshis: int, prefix: str) -> tuple[str, ...]:
    return ("--budget", str(satoshis), "--idempotency-prefix", prefix)


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    content: dict[str, Any] = found.structured_content
    return content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    found = await client.call_tool(tool, arguments)
    assert found.is_error, found.content
    return said(found)


def said(found: CallToolResult) -> str:
    return "".join(getattr(each, "text", "") for each in found.content)


def orders_of(platform: ServedPlatform) -> int:
    with platform.client() as client:
        return len(list(client.flow.orders()))


def test_an_agent_reads_and_changes_nothing(
    platform: ServedPlatform, talk: Callable[..., Any]
) -> None:
    with platform.client() as client:
        settings = node_settings.of_a_new_node("pier", {}) | {"whitelist": ["::1"]}
        node = client.nodes.create("pier", settings=settings)
        order = client.flow.create(CAPACITY)
        secret = client.nodes.get(node.node_id).settings.webhook_secret
    platform.pay(order.order_id)
    with platform.client() as client:
        ticket = client.flow.wait(order.order_id, {"created"}).sidecar_ticket
    before = orders_of(platform)

    async def look(client: Client) -> str:
        tools = (await client.list_tools()).tools
        assert {each.name for each in tools} == READING
        assert all(
            each.annotations.read_only_hint for each in tools if each.annotations
        )
        listed = (await answer(client, "list_nodes"))["nodes"]
        assert "pier" in {each["node_name"] for each in listed}
        shown = await answer(client, "show_node", node="pier")
        orders = await answer(client, "list_orders", limit=5)
        found = await answer(client, "show_order", order_id=order.order_id)
        assert found["status"] == "created"
        quote = await answer(client, "quote_channel", capacity=CAPACITY)
        assert quote["total_fee"] == order.total_fee
        events = await answer(client, "list_events", types=["order.*"])
        assert {each["type"] for each in events["events"]} >= {"order.paid"}
        credit = await answer(client, "show_credit")
        assert "budget_left" not in credit
        wrong = await refusal(client, "show_node", node="peir")
        assert "did you mean 'pier'?" in wrong
        absent = await refusal(client, "show_order", order_id="no-such")
        assert "not found" in absent
        tools_said = [each.model_dump_json() for each in tools]
        return str([*tools_said, listed, shown, orders, found, quote, events, credit])

    everything = talk(look)
    assert ticket.startswith("sidecar1")
    for each in filter(None, (secret, ticket, platform.key)):
        assert each not in everything
    assert orders_of(platform) == before


def test_orders_stay_within_the_budget_and_are_made_once(
    platform: ServedPlatform, talk: Callable[..., Any]
) -> None:
    with platform.client() as client:
        price = client.flow.quote(CAPACITY).total_fee
    before = orders_of(platform)

    async def order(client: Client) -> str:
        assert {each.name for each in (await client.list_tools()).tools} == {
            *READING,
            *ACTING,
        }
        first = await answer(client, "order_channel", capacity=CAPACITY, request_id="1")
        again = await answer(client, "order_channel", capacity=CAPACITY, request_id="1")
        assert first["order_id"] == again["order_id"]
        assert first["budget_left"] == again["budget_left"] == 10
        assert "sidecar_ticket" not in first
        dear = await refusal(client, "order_channel", capacity=CAPACITY, request_id="2")
        assert "10 of the budget" in dear
        small = await refusal(client, "order_channel", capacity=7, request_id="3")
        assert "capacity" in small
        key = await refusal(
            client, "order_channel", capacity=CAPACITY, request_id="a b"
        )
        assert "request_id" in key
        assert (await answer(client, "show_credit"))["budget_left"] == 10
        return str(first["order_id"])

    order_id = talk(order, *with_budget(price + 10, "harbour"))
    assert orders_of(platform) == before + 1

    async def after_a_restart(client: Client) -> None:
        again = await answer(client, "order_channel", capacity=CAPACITY, request_id="1")
        assert again["order_id"] == order_id

    talk(after_a_restart, *with_budget(price, "harbour"))
    assert orders_of(platform) == before + 1


def test_an_order_whose_answer_is_lost_is_spent(
    platform: ServedPlatform, talk: Callable[..., Any]
) -> None:
    with platform.client() as client:
        price = client.flow.quote(CAPACITY).total_fee

    async def respond(send: Any, status: int) -> bool:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b'{"message": "sorry"}'})
        return True

    async def passes(scope: Any, send: Any) -> bool:
        del scope, send
        return False

    async def fails(scope: Any, send: Any) -> bool:
        assert scope["path"] == "/flow/create"
        return await respond(send, 500)

    async def refuses(scope: Any, send: Any) -> bool:
        assert scope["path"] == "/flow/create"
        return await respond(send, 400)

    async def order(client: Client) -> None:
        arguments = {"capacity": CAPACITY, "request_id": "first"}
        platform.before[:] = [passes, refuses]
        assert "sorry" in await refusal(client, "order_channel", **arguments)
        assert (await answer(client, "show_credit"))["budget_left"] == price
        platform.before[:] = [passes, fails]
        assert "sorry" in await refusal(client, "order_channel", **arguments)
        assert (await answer(client, "show_credit"))["budget_left"] == 0
        other = arguments | {"request_id": "second"}
        assert "budget" in await refusal(client, "order_channel", **other)
        platform.before[:] = [passes, refuses]  # of the first nothing is known yet
        assert "sorry" in await refusal(client, "order_channel", **arguments)
        assert (await answer(client, "show_credit"))["budget_left"] == 0
        made = await answer(client, "order_channel", **arguments)
        assert made["budget_left"] == 0

    talk(order, *with_budget(price, "lost"))


def test_nodes_are_created_once_stopped_and_started(
    platform: ServedPlatform, talk: Callable[..., Any]
) -> None:
    async def command(client: Client) -> None:
        wish = {"name": "jetty", "request_id": "n1", "allowed_ips": ["192.0.2.7"]}
        made = await answer(client, "create_node", **wish)
        again = await answer(client, "create_node", **wish)
        assert made["node_id"] == again["node_id"]
        with platform.client() as owner:
            owner.nodes.wait(made["node_id"], {"waiting_init"})
        shown = await answer(client, "show_node", node="jetty")
        assert shown["settings"]["whitelist"] == ["192.0.2.7"]
        assert "webhook_secret" not in shown["settings"]
        assert (await answer(client, "stop_node", node="jetty"))["node_name"] == "jetty"
        with platform.client() as owner:
            owner.nodes.wait(made["node_id"], {"stopped"})
        assert (await answer(client, "start_node", node="jetty"))[
            "node_name"
        ] == "jetty"

    talk(command, *with_budget(1, "nodes"))
