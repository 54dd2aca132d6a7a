"""The addresses of hosts that settings name."""

import logging
import socket
from ipaddress import ip_address, ip_network

from leyden.base.rules.addresses import Network, unmap

log = logging.getLogger(__name__)


def resolved(host: str) -> list[Network]:
    """Return the addresses of a host; log a warning if it has none now."""
    if not host:
        return []
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        log.warning(
            "nodes can't reach a host without an address",
            extra={"host": host, "why": error},
        )
        return []
    addresses = {unmap(ip_address(str(each[4][0]).partition("%")[0])) for each in found}
    return sorted((ip_network(each) for each in addresses), key=str)
