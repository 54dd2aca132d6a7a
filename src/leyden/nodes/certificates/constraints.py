"""Which names an authority may vouch for: RFC 5280's name constraints, critical.

A client that trusts a constrained root trusts it for those names only. The constraints
are on root and intermediate: some libraries ignore those of a root, because a root is
trusted and not verified.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from leyden.errors import SetupError
from leyden.values import Struct

_DOMAIN: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
# Without an address that is permitted every address would be: they are a kind of name
# of their own, and a kind that no constraint names is not constrained.
_NO_ADDRESS = tuple(
    x509.IPAddress(ipaddress.ip_network(each)) for each in ("0.0.0.0/0", "::/0")
)


class CertificateScope(Struct, frozen=True):
    """Domains, each with all names below it, and single addresses."""

    domains: tuple[str, ...]
    addresses: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join((*self.domains, *self.addresses))

    def covers(self, name: str) -> bool:
        """Return whether a name or an address is in it."""
        if (address := _address(name)) is not None:
            return str(address) in self.addresses
        return any(
            name.lower() == domain or name.lower().endswith(f".{domain}")
            for domain in self.domains
        )

    def extensions(self) -> tuple[x509.ExtensionType, ...]:
        """Return what a certificate of an authority says of it."""
        permitted: list[x509.GeneralName] = [*map(x509.DNSName, self.domains)]
        permitted += [x509.IPAddress(ipaddress.ip_network(it)) for it in self.addresses]
        return (
            x509.NameConstraints(permitted, None if self.addresses else _NO_ADDRESS),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        )


def scope(names: Iterable[str]) -> CertificateScope:
    """Return the scope of these names and addresses, each once, in their order."""
    domains, addresses = dict[str, None](), dict[str, None]()
    for name in names:
        if (address := _address(name)) is not None:
            addresses[str(address)] = None
        else:
            domains[name.lower().rstrip(".")] = None
    return CertificateScope(tuple(domains), tuple(addresses))


def scope_of(certificate: x509.Certificate) -> CertificateScope | None:
    """Return what a certificate is constrained to; None where that is not as we do it.

    Anything else than a critical list of domains and single addresses is None: what
    could be understood in two ways is not understood.
    """
    try:
        found = certificate.extensions.get_extension_for_class(x509.NameConstraints)
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return None
    if not found.critical or found.value.permitted_subtrees is None:
        return None
    domains, addresses = [], []
    for each in found.value.permitted_subtrees:
        if isinstance(each, x509.DNSName) and _is_domain(each.value):
            domains.append(each.value)
        elif isinstance(each, x509.IPAddress) and (single := _single(each.value)):
            addresses.append(single)
        else:
            return None
    excluded = found.value.excluded_subtrees or []
    if not domains or not (addresses or all(each in excluded for each in _NO_ADDRESS)):
        return None
    return CertificateScope(tuple(domains), tuple(addresses))


def check_covers(
    allowed: CertificateScope | None, names: Iterable[str], *, setting: str
) -> None:
    """Raise SetupError for a name outside the scope; None allows every name."""
    for name in names:
        if allowed is not None and not allowed.covers(name):
            raise SetupError(
                f"{setting}: the platform's authority can sign for {allowed} only, not "
                f"for {name}; stop the platform, run `leyden ca rotate`, which "
                "creates an authority for these settings, and start it again (nodes "
                "get new certificates at their next start; clients need the new root)"
            )


def general_names(names: Iterable[str]) -> list[x509.GeneralName]:
    """Return names and addresses as a certificate has them."""
    return [
        x509.DNSName(name) if address is None else x509.IPAddress(address)
        for name, address in ((each, _address(each)) for each in names)
    ]


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_domain(name: str) -> bool:
    """Return whether it is one domain: "" is all of them, ".a" is not read alike."""
    return _DOMAIN.fullmatch(name) is not None


def _single(value: object) -> str:
    """Return the address of a network that is one address, as text."""
    networks = ipaddress.IPv4Network | ipaddress.IPv6Network
    alone = isinstance(value, networks) and value.num_addresses == 1
    return str(value).partition("/")[0] if alone else ""
