"""Check which addresses are public, and may be called on behalf of tenants.

Tenants can make this machine connect to addresses (webhooks, or their own
lnd's peers). They must not reach what only this machine can reach: loopback,
private ranges, the cloud's metadata service. Also returns the form of
callers' addresses that rate limits count.
"""

import ipaddress
from functools import lru_cache

from leyden.values import Struct

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# IANA's special-purpose registries, and addresses of more than one host. Python's
# `is_global` is no substitute: it lets 192.0.0.192, fec0::1 and 2002:7f00:1:: through.
SPECIAL_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, another metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# For IPv6 it is shorter to list what is public, and which parts of that are not.
PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
SPECIAL_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address in disguise, and long dead
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # the 6bone, returned
        "3fff::/20",  # documentation
    )
)
# A machine without IPv4 reaches IPv4 by NAT64; the embedded address is what counts.
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_V4_BITS = 0xFFFFFFFF
_LOCALHOST = "localhost"
_LOOPBACK = "127.0.0.1"


def unmap(address: Address) -> Address:
    """Return the IPv4 address of an IPv4-mapped one, else the address as is."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def is_public(address: Address) -> bool:
    """Return whether the address belongs to one host on the public internet."""
    address = unmap(address)
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in SPECIAL_V4)
    if address in NAT64:
        return is_public(_behind_nat64(address))
    return address in PUBLIC_V6 and not any(
        address in network for network in SPECIAL_V6
    )


def _behind_nat64(address: Address) -> Address:
    """Return the IPv4 address embedded in a NAT64 one, else the address as is."""
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & _V4_BITS)
    return address


class Reach(Struct, frozen=True, kw_only=True):
    """The addresses that an installation may call on behalf of tenants.

    `exceptions` may be called although they are not public: a private
    installation is inside its own network. `openings` are such exceptions at
    one port only. `forbidden` may not be called although they are public: the
    platform's own.
    """

    exceptions: tuple[Network, ...] = ()
    openings: tuple[tuple[Network, int], ...] = ()
    forbidden: tuple[Network, ...] = ()

    def permits(self, address: Address, port: int | None = None) -> bool:
        """Return whether this address may be called at this port."""
        address = unmap(address)
        reached = _behind_nat64(address)
        if any(
            each in network for each in (address, reached) for network in self.forbidden
        ):
            return False
        return (
            is_public(address)
            or any(address in network for network in self.exceptions)
            or any(address in net and port == at for net, at in self.openings)
        )

    def permits_host(self, host: str, port: int) -> bool:
        """Return whether a host may be called, judging by its text only.

        A name may resolve to any address later, except for `localhost` and its
        subdomains, which are this machine.
        """
        host = host.lower().removesuffix(".")
        if host == _LOCALHOST or host.endswith(f".{_LOCALHOST}"):
            host = _LOOPBACK
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return True
        return self.permits(address, port)


@lru_cache(maxsize=4096)
def rate_limit_key(address: str) -> str:
    """Return the address in the form that is counted: for IPv6 its /64.

    A /64 is one household's.
    """
    try:
        ip = unmap(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    return str(ipaddress.ip_network((int(ip), 64), strict=False))
