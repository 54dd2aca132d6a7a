"""Parse HOST:PORT from customers, and check that it may be called."""

import ipaddress
import re
from typing import Final

from leyden.base.rules.addresses import Reach
from leyden.errors import Malformed

_LARGEST_PORT: Final = 65_535
_LONGEST_HOST: Final = 253
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
# The C library parses a name whose last label is a number, such as 0x7f000001, as an
# IPv4 address.
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")


def check_host(text: str, *, field: str, default_port: int) -> str:
    """Return host and port as lnd dials them."""
    refusal = Malformed(
        f"{field}: must be an IP address or host name, maybe with :port"
    )
    host, port = _split(text, default_port)
    if not port.isascii() or not port.isdigit() or len(port) > len(str(_LARGEST_PORT)):
        raise refusal
    if not 1 <= int(port) <= _LARGEST_PORT:
        raise refusal
    if ":" in host:
        if "%" in host:  # a zone id may contain anything, even a newline
            raise refusal
        try:
            return f"[{ipaddress.IPv6Address(host)}]:{int(port)}"
        except ValueError:
            raise refusal from None
    if not _is_name_or_ipv4(host):
        raise refusal
    return f"{host}:{int(port)}"


def split(dialled: str) -> tuple[str, int]:
    """Return host, without brackets, and port of what `check_host` returned."""
    host, _, port = dialled.rpartition(":")
    return host.strip("[]"), int(port)


def is_name(host: str) -> bool:
    """Return whether a host is a name, which must be resolved."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def check_reach(dialled: str, reach: Reach, *, field: str, refusal: str) -> None:
    """Raise Malformed for an address that may not be called, however it is written.

    The addresses of a name are checked when it is called.
    """
    host, port = split(dialled)
    if _NUMBER.fullmatch(host.rpartition(".")[2]) and not _is_ipv4(host):
        raise Malformed(
            f"{field}: {host} is an ambiguous IP address; write it like 192.0.2.7, or "
            "use a host name"
        )
    if not reach.permits_host(host, port):
        raise Malformed(
            f"{field}: {host} is a private or reserved address, {refusal}; use a "
            "public address, or ask the operator to allow it (nodes_may_reach)"
        )


def _split(text: str, default_port: int) -> tuple[str, str]:
    """Split host and port; a bare IPv6 address has colons but no port."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if bracket and ":" in host and (not rest or rest.startswith(":")):
            return host, rest[1:] if rest else str(default_port)
        return "", ""
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, port
    return text, str(default_port)


def _is_name_or_ipv4(host: str) -> bool:
    labels = host.split(".")
    if labels[-1].isdigit():  # a resolver parses 2130706433 and 127.1 as addresses
        return _is_ipv4(host)
    return len(host) <= _LONGEST_HOST and all(map(_LABEL.fullmatch, labels))


def _is_ipv4(host: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False
