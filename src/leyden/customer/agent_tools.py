"""The body of `leyden mcp`: the tools, and what they may spend.

An order is counted before it is sent, at the price of a quote. Where the platform says
that it made no order, it is no longer counted; where the answer is not known, it is.
Nothing that is counted comes back: not by cancelling, and not by waiting.
"""

import functools
import inspect
import re
import threading
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

import click
import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from leyden import __version__
from leyden.client import ApiError
from leyden.customer import node_settings
from leyden.customer.session import ApiSession, with_next_step
from leyden.errors import LeydenError
from leyden.schemas.flow import OrderAnswer
from leyden.schemas.node_settings import TABLE

_HELP: Final = """\
Lightning nodes and channels of one organization at a Leyden platform. Amounts are
satoshis, times are UTC. An order is paid from the organization's credit; if that is
not enough, somebody has to pay its invoice. Wallets, passwords, seeds, macaroons and
tickets stay with people: nothing here unlocks, sends or receives."""
# Who has one of these has money, or can speak for the platform.
_SECRETS: Final = frozenset(
    {"webhook_secret", "secret", "sidecar_ticket", "api_key"}
    | {name for name, setting in TABLE.items() if setting.is_secret}
)
_KEY: Final = re.compile(r"[0-9A-Za-z_-]{1,40}")
_NODE_KEY: Final = re.compile(r"0[23][0-9a-f]{64}(@\S+)?")
_TOO_MANY: Final = 429
Tool = Callable[..., Any]


class Budget:
    """What the orders of this process may cost, and have cost at most."""

    def __init__(self, satoshis: int) -> None:
        self.satoshis = satoshis
        self._counted: dict[str, int] = {}

    @property
    def left(self) -> int:
        """What further orders may cost."""
        return self.satoshis - sum(self._counted.values())

    def count(self, key: str, price: int) -> bool:
        """Count an order; return whether it is new. Raise ToolError if it is too dear.

        An order of the same key is the same order: it is counted once.
        """
        before = self._counted.get(key)
        if price - (before or 0) > self.left:
            raise ToolError(
                f"the order costs {price:,} sat, and {self.left:,} of the budget of "
                f"{self.satoshis:,} sat are left; ask for a new budget"
            )
        self._counted[key] = max(price, before or 0)
        return before is None

    def forget(self, key: str) -> None:
        """Stop counting an order that the platform did not make."""
        del self._counted[key]


class ReadingTools:
    """What every agent can do; nothing of it changes anything."""

    def __init__(self, session: ApiSession) -> None:
        self._session = session
        self._client = session.client

    def reading(self) -> list[Tool]:
        """Return the tools that change nothing."""
        return [
            self.list_nodes,
            self.show_node,
            self.list_orders,
            self.show_order,
            self.quote_channel,
            self.list_events,
            self.show_credit,
        ]

    def list_nodes(self) -> dict[str, Any]:
        """List the nodes with their statuses, oldest first."""
        return {"nodes": self._client.nodes.list_()}

    def show_node(self, node: str) -> Any:
        """Show a node, by its name or id, with its settings and last commands."""
        return self._client.nodes.get(self._session.node(node).node_id)

    def list_orders(self, limit: int = 20) -> dict[str, Any]:
        """List channel orders, newest first."""
        return {"orders": list(islice(self._client.flow.orders(), min(limit, 100)))}

    def show_order(self, order_id: str) -> Any:
        """Show a channel order, with its invoice while it is unpaid."""
        return self._client.flow.status(order_id)

    def quote_channel(
        self, capacity: int, node: str = "", lease_blocks: int | None = None
    ) -> Any:
        """Quote an inbound channel of so many satoshis; this orders nothing.

        `node` is a node of yours by name or id, or PUBLIC-KEY@HOST:PORT. Without it,
        the quote is for a ticket of the auction. `lease_blocks`: 2016, 4032, ... 52416.
        """
        return self._client.flow.quote(capacity, **self._wish(node, lease_blocks))

    def list_events(
        self, after: str = "", types: list[str] | None = None, limit: int = 50
    ) -> Any:
        """List events after a cursor, oldest first: `cursor` is where to go on.

        `types` are such as order.paid or node.*; all of them by default.
        """
        return self._client.events.page(after, types=types or (), limit=limit)

    def show_credit(self) -> dict[str, Any]:
        """Show the organization's credit, and what it owes."""
        found: dict[str, Any] = msgspec.to_builtins(self._client.flow.balance())
        return found

    def _wish(self, node: str, lease_blocks: int | None) -> dict[str, Any]:
        wish: dict[str, Any] = {}
        if _NODE_KEY.fullmatch(node):
            wish["node"] = node
        elif node:
            wish["node_id"] = self._session.node(node).node_id
        if lease_blocks is not None:
            wish["lease_duration_blocks"] = lease_blocks
        return wish


class ActingTools(ReadingTools):
    """What an agent with a budget can do."""

    def __init__(self, session: ApiSession, budget: Budget, prefix: str) -> None:
        super().__init__(session)
        self._budget = budget
        self._prefix = prefix

    def acting(self) -> list[Tool]:
        """Return the tools that change something."""
        return [
            self.order_channel,
            self.create_node,
            self.start_node,
            self.stop_node,
        ]

    def show_credit(self) -> dict[str, Any]:
        """Show the organization's credit, and what is left of the budget."""
        return {**super().show_credit(), "budget_left": self._budget.left}

    def order_channel(
        self,
        capacity: int,
        request_id: str,
        node: str = "",
        lease_blocks: int | None = None,
    ) -> dict[str, Any]:
        """Order an inbound channel of so many satoshis, within the budget.

        `request_id` is yours, such as a number: the same one orders once only, so
        repeat it if you got no answer. Quote first, with the same arguments.
        """
        key, wish = self._key(request_id), self._wish(node, lease_blocks)
        price = self._client.flow.quote(capacity, **wish).total_fee
        is_new = self._budget.count(key, price)
        try:
            order = self._client.flow.create(capacity, key=key, **wish)
        except ApiError as error:
            if is_new and _is_refused(error):
                self._budget.forget(key)
            raise
        if order.total_fee > price:
            self._recount(key, order)
        return {**msgspec.to_builtins(order), "budget_left": self._budget.left}

    def create_node(
        self,
        name: str,
        request_id: str,
        allowed_ips: list[str],
        network: str = "testnet",
        type: str = "standard",  # noqa: A002  the API's word
    ) -> Any:
        """Create a node; its owner creates the wallet, with `leyden wallet init`.

        `request_id` is yours: the same one creates one node only. `allowed_ips` are
        the IP addresses and CIDR blocks that can reach the node; [] is nobody.
        """
        settings = node_settings.of_a_new_node(name, {}) | {"whitelist": allowed_ips}
        return self._client.nodes.create(
            name,
            settings=settings,
            network=network,
            type=type,
            key=self._key(request_id),
        )

    def start_node(self, node: str) -> Any:
        """Start a stopped node; its owner has to unlock the wallet afterwards."""
        return self._client.nodes.start(self._session.node(node).node_id)

    def stop_node(self, node: str) -> Any:
        """Stop a node gracefully: no payments until it is started and unlocked."""
        return self._client.nodes.stop(self._session.node(node).node_id)

    def _recount(self, key: str, order: OrderAnswer) -> None:
        """Count an order that became dearer than its quote, or cancel it."""
        try:
            self._budget.count(key, order.total_fee)
        except ToolError:
            self._client.flow.cancel(order.order_id)
            raise

    def _key(self, request_id: str) -> str:
        if not _KEY.fullmatch(request_id):
            raise ToolError(
                "request_id: must have 1 to 40 letters, digits, - and _, and no others"
            )
        return f"{self._prefix}-{request_id}"


def mcp(session: ApiSession, *, budget: int | None, prefix: str | None) -> None:
    """Serve the tools until standard input ends."""
    if (budget is None) != (prefix is None):
        raise click.UsageError(
            "--budget and --idempotency-prefix: use both, or neither"
        )
    server = MCPServer(
        "leyden", instructions=_HELP, version=__version__, log_level="WARNING"
    )
    lock = threading.Lock()

    def serve(tools: list[Tool], hint: ToolAnnotations) -> None:
        for each in tools:
            server.add_tool(_answering(each, session, lock), annotations=hint)

    if budget is None or prefix is None:
        serve(ReadingTools(session).reading(), ToolAnnotations(read_only_hint=True))
    else:
        tools = ActingTools(session, Budget(budget), prefix)
        serve(tools.reading(), ToolAnnotations(read_only_hint=True))
        serve(tools.acting(), ToolAnnotations(read_only_hint=False))
    server.run("stdio")


def _answering(tool: Tool, session: ApiSession, lock: threading.Lock) -> Tool:
    """Return the tool as it is served: one at a time, without secrets."""

    @functools.wraps(tool)
    def run(*args: Any, **options: Any) -> dict[str, Any]:
        with lock:
            try:
                answer = msgspec.to_builtins(tool(*args, **options))
            except ApiError as error:
                raise ToolError(with_next_step(error, session.profile)) from None
            except LeydenError as error:
                raise ToolError(error.message) from None
        found: dict[str, Any] = _without_secrets(answer)
        return found

    signature = inspect.signature(tool).replace(return_annotation=dict[str, Any])
    vars(run)["__signature__"] = signature
    return run


def _without_secrets(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {
            name: _without_secrets(value)
            for name, value in answer.items()
            if name not in _SECRETS
        }
    if isinstance(answer, list):
        return [_without_secrets(each) for each in answer]
    return answer


def _is_refused(error: ApiError) -> bool:
    """Return whether the platform made nothing: else it did, or may have."""
    if error.status == _TOO_MANY:
        return True
    is_clear = 400 <= error.status < 500  # noqa: PLR2004
    return is_clear and error.retry_after_s is None  # else it is still at it
