"""When the egress policy is required, and what prevents it.

An owner's lnd connects wherever its owner wants. Without the policy it
reaches the API, the treasury, other nodes and a cloud's metadata service.
Where outside customers are served, or real money is at stake, nothing
starts without the policy unless the operator turned it off explicitly.
"""

import asyncio
import socket
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final

from msgspec.structs import replace

from leyden.base.rules.addresses import unmap
from leyden.base.settings import Settings
from leyden.errors import Away
from leyden.nodes.runtimes.local import nftables
from leyden.nodes.runtimes.local.placement import can_be_reached, may_give_users

HOW: Final = (
    "Install nftables (apt-get install nftables) and run Leyden as root, with the "
    "capability NET_ADMIN in a container"
)
_WITHOUT: Final = (
    'or set nodes_fence = "off", and accept that nodes can reach everything that this '
    "machine can"
)


def required_because(settings: Settings) -> str:
    """Return why the policy is required, or "" if it is not."""
    if settings.nodes_fence == "off" or not settings.runs_here:
        return ""
    if settings.mainnet_backend:
        return "nodes on mainnet hold real money (mainnet_backend is set)"
    if settings.testnet_chain and is_public(settings.api_host):
        return f'other machines reach the API (api_host = "{settings.api_host}")'
    if settings.nodes_fence == "required":
        return 'nodes_fence = "required"'
    return ""


def demanded(settings: Settings) -> Settings:
    """Return the settings, with the policy set to required if demanded."""
    return (
        replace(settings, nodes_fence="required")
        if required_because(settings)
        else settings
    )


def is_public(host: str) -> bool:
    """Return whether other machines may reach a listener on this host.

    The wildcard address counts as public, and so does a name that does not
    resolve.
    """
    try:
        return not unmap(ip_address(host.strip("[]"))).is_loopback
    except ValueError:
        pass
    if host.rstrip(".").lower() == "localhost":
        return False
    try:
        found = socket.getaddrinfo(host or None, 0, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return True
    addresses = {unmap(ip_address(str(each[4][0]))) for each in found}
    return not all(each.is_loopback for each in addresses)


def unavailable_because(settings: Settings) -> str:
    """Return what prevents the policy on this machine, or ""."""
    if settings.nodes_fence == "off":
        return 'the setting nodes_fence is "off"'
    if not settings.nodes_first_uid:
        if not may_give_users():
            return "Leyden does not run as root, so nodes can't run as their own users"
        folders = settings.home_path.absolute().parents
        above = next(each for each in folders if each.exists())
        if not can_be_reached(above):
            return (
                f"other users can't pass through {above} to the home folder, so nodes "
                "can't run as their own users (chmod o+x each folder above it)"
            )
    return nftables.unavailable_reason()


def startup_error(settings: Settings, why: str | None = None) -> str:
    """Return the startup error for a missing required policy, or ""."""
    why = unavailable_because(settings) if why is None else why
    if not why or not (because := required_because(settings)):
        return ""
    return (
        f"nodes_fence: the egress policy of nodes is required, but {why}. It is "
        f"required because {because}. {HOW}, {_WITHOUT}"
    )


class Gate:
    """Admission check: a node starts only while the policy is in place."""

    def __init__(self, in_place: Callable[[], bool], *, fresh_s: float = 0.25) -> None:
        self._in_place = in_place
        self._fresh_s = fresh_s  # a storm of starts shares a look: 5 ms of processor
        self._checked_at: float | None = None
        self._turn = asyncio.Lock()

    async def passed(self) -> None:
        """Return once the policy is in place; raise Away if it is not.

        The node keeps its status, and its start is retried.
        """
        async with self._turn:
            if (
                self._checked_at is not None
                and time.monotonic() - self._checked_at < self._fresh_s
            ):
                return
            self._checked_at = None
            if not await asyncio.to_thread(self._in_place):
                raise Away(
                    "the egress policy of nodes is not in place: nodes can't start "
                    "until it is back"
                )
            self._checked_at = time.monotonic()
