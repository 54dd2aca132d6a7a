"""Decide which addresses of a buyer's node the seller may connect to.

Customers choose the address, so it must not give access to networks that only the
seller's machine can reach. A name is resolved here, and the seller gets the IP
addresses that were checked, so that the name can't resolve differently a moment later.
"""

import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence

from leyden.base.rules import hosts
from leyden.base.rules.addresses import Reach
from leyden.nodes.rules.peer_ports import PeerPorts, host_port
from leyden.values import Struct

LookUp = Callable[[str, int, str], Awaitable[Sequence[str]]]

log = logging.getLogger(__name__)


async def _nowhere(host: str, port: int, organization_id: str) -> Sequence[str]:
    raise socket.gaierror(f"{host}:{port} is not resolved for {organization_id}")


class Dialing(Struct, frozen=True, kw_only=True):
    """The addresses that the seller may connect to."""

    reach: Reach = Reach()
    peer_host: str = ""  # of this platform's own nodes
    peer_ports: PeerPorts = PeerPorts()
    look_up: LookUp = _nowhere

    def check(self, host: str, *, field: str) -> None:
        """Raise Malformed for a host that may not be dialed, judging by its text."""
        if not self._is_ours(host):
            hosts.check_reach(
                host, self.reach, field=field, refusal="which we don't connect to"
            )

    async def addresses(self, host: str, organization_id: str) -> list[str]:
        """Return the checked IP addresses to dial, with the port; none if not allowed.

        A single forbidden address forbids the whole name: an honest name has none.
        """
        if not host or self._is_ours(host):
            return [host] if host else []
        host, port = hosts.split(host)
        found: Sequence[str] = [host]
        if hosts.is_name(host):
            try:
                found = await self.look_up(host, port, organization_id)
            except (OSError, UnicodeError):
                return []
        judged = [ipaddress.ip_address(each) for each in found]
        if not all(self.reach.permits(each, port) for each in judged):
            log.warning("a buyer's node has an address that we must not connect to")
            return []
        return [host_port(str(each), port) for each in judged]

    def _is_ours(self, dialled: str) -> bool:
        host, port = hosts.split(dialled)
        return (
            bool(self.peer_host)
            and host == self.peer_host
            and (port in self.peer_ports)
        )
