"""What holds for every gateway: which name leads where, and that it stays so."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from leyden.nodes.gateway.base import Gateway
from leyden.nodes.gateway.routes import Listener, UpstreamAddress

# Where a name leads to for a caller on this machine; None when it is let in nowhere.
Reach = Callable[[str, Listener], Awaitable[UpstreamAddress | None]]


@dataclass(frozen=True)
class Case:
    """A gateway, a way to see through it, and two nodes behind it."""

    gateway: Gateway
    reach: Reach
    harbour: UpstreamAddress
    lighthouse: UpstreamAddress
