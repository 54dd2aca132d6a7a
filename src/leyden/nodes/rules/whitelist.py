"""A node's allowed addresses and CIDR blocks, in canonical form.

An empty whitelist lets nobody in, because anybody who can reach a node without
a wallet can create it. `0.0.0.0/0`, `::/0` lets everybody in.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from leyden.errors import Malformed

Network = IPv4Network | IPv6Network

MAX_ENTRIES = 500
_LONGEST_ENTRY = 45 + len("/128")  # an IPv6 address with an IPv4 tail, and a prefix
# The module ipaddress accepts zone ids with anything in them, even a newline
# ("fe80::1%\nX"), and prefixes such as "10.0.0.0/255.0.0.0" or "/08": reject them here.
_ENTRY = re.compile(r"[0-9A-Fa-f:.]+(/(0|[1-9][0-9]{0,2}))?")
_MAPPED = IPv6Network("::ffff:0:0/96")
_ABOVE_MAPPED = int(_MAPPED.network_address) >> 32


def parse(value: object, *, field: str = "whitelist") -> tuple[str, ...]:
    """Return the list in canonical form, in order and without duplicates.

    Parsing the result again returns it unchanged.
    """
    if not isinstance(value, list | tuple):
        raise Malformed(f"{field}: must be a list of IP addresses and CIDR blocks")
    if len(value) > MAX_ENTRIES:
        raise Malformed(f"{field}: at most {MAX_ENTRIES} entries are allowed")
    entries = (_network(entry, f"{field}[{i}]") for i, entry in enumerate(value))
    return tuple(dict.fromkeys(_write(entry) for entry in entries))


def networks(whitelist: Iterable[str]) -> tuple[Network, ...]:
    """Convert a canonical list to network objects."""
    return tuple(ip_network(entry) for entry in whitelist)


def allows(whitelist: Iterable[str], address: str) -> bool:
    """Return whether a canonical list allows an address, as a gateway decides."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(ip, "ipv4_mapped", None)
    return any((mapped or ip) in entry for entry in networks(whitelist))


def _network(entry: object, field: str) -> Network:
    if not isinstance(entry, str):
        raise Malformed(f"{field}: must be a string")
    if len(entry) > _LONGEST_ENTRY or not _ENTRY.fullmatch(entry):
        raise Malformed(f"{field}: must be an IP address or a CIDR block")
    try:
        address, _, prefix = entry.partition("/")
        exact = ip_network(address)
        network = exact.supernet(new_prefix=int(prefix)) if prefix else exact
    except ValueError:
        raise Malformed(f"{field}: must be an IP address or a CIDR block") from None
    # 10.0.0.7/8 is probably a mistake: the block would let in sixteen million
    # addresses.
    if network.network_address != exact.network_address:
        raise Malformed(
            f"{field}: has host bits set; write one IP address without a prefix, or "
            "the first address of the block"
        )
    return _unmapped(network)


def _unmapped(network: Network) -> Network:
    """Return ::ffff:198.51.100.7 as 198.51.100.7, as a gateway sees it."""
    if isinstance(network, IPv6Network) and network.prefixlen >= _MAPPED.prefixlen:
        above, bits = divmod(int(network.network_address), 1 << 32)
        if above == _ABOVE_MAPPED:
            return IPv4Network((bits, network.prefixlen - _MAPPED.prefixlen))
    return network


def _write(network: Network) -> str:
    if network.prefixlen == network.max_prefixlen:
        return str(network.network_address)
    return str(network)
