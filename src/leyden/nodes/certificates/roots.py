"""The certificate authorities that this machine trusts.

They complete an uploaded chain: a server sends its chain without the root,
and a client that is given only the chain to trust does not always accept
it. Python before 3.13 needs the root.
"""

import contextlib
import re
import ssl
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding

_ONE: Final = re.compile(
    rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL
)


class Roots:
    """The system's authorities, and those of a file beside them."""

    def __init__(self, file: str = "") -> None:
        self._file = file

    def root_of(self, chain_pem: bytes) -> bytes:
        """Return the root that signed the last of a chain, as PEM; empty if unknown.

        Nothing is above a chain that ends with a root.
        """
        last = x509.load_pem_x509_certificates(chain_pem)[-1]
        if last.issuer == last.subject:
            return b""
        for root in self._known.get(last.issuer, ()):
            try:
                last.verify_directly_issued_by(root)
            except (ValueError, TypeError, InvalidSignature):
                continue
            return root.public_bytes(Encoding.PEM)
        return b""

    @cached_property
    def _known(self) -> dict[x509.Name, list[x509.Certificate]]:
        found: dict[x509.Name, list[x509.Certificate]] = {}
        for path in self._files():
            for each in _certificates(path):
                found.setdefault(each.subject, []).append(each)
        return found

    def _files(self) -> Iterator[Path]:
        if self._file:
            yield Path(self._file)
        system = ssl.get_default_verify_paths()
        if system.cafile:
            yield Path(system.cafile)
        elif system.capath:
            yield from sorted(Path(system.capath).glob("*.0"))


def _certificates(path: Path) -> Iterator[x509.Certificate]:
    """Yield those of a file that can be read; systems have some that no rule allows."""
    try:
        content = path.read_bytes()
    except OSError:
        return
    for pem in _ONE.findall(content):
        with (
            contextlib.suppress(ValueError),
            warnings.catch_warnings(action="ignore"),
        ):
            yield x509.load_pem_x509_certificate(pem)
