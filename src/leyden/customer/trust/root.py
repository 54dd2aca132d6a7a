"""A platform's root: read strictly, or refused, and remembered once it is trusted.

Remembered are DATA/leyden/trusted/leyden-DOMAIN.pem, so that exactly these can be
removed.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from leyden.base.files import write_whole
from leyden.errors import SetupError
from leyden.nodes.certificates.constraints import CertificateScope, scope_of
from leyden.values import Struct

# Top-level domains for private use. "com" is not: it is shared by everybody.
_OWN_WORDS: Final = frozenset(
    ("corp", "home", "internal", "lan", "local", "localdomain", "localhost", "test")
)
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")
_REFUSED: Final = "this root is not trusted"
_MODE = 0o644


class Root(Struct, frozen=True, kw_only=True):
    """A root that may vouch for the names it shows and for nothing else."""

    pem: bytes
    der: bytes
    scope: CertificateScope
    since: datetime
    until: datetime
    fingerprint: str  # SHA-256, in pairs, as browsers show it

    @property
    def domain(self) -> str:
        """Return the domain of the platform's nodes."""
        return self.scope.domains[0]

    @property
    def name(self) -> str:
        """Return its name in stores; a platform's next root has the same."""
        return f"Leyden {self.domain}"

    @property
    def file_name(self) -> str:
        """Return the same for a file, without its ending."""
        return f"leyden-{self.domain}"


def read(pem: bytes) -> Root:
    """Read a root, or refuse one that may vouch for more than it shows."""
    try:
        (found,) = x509.load_pem_x509_certificates(pem)
        found.verify_directly_issued_by(found)
        usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        bounded = list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    except x509.ExtensionNotFound:
        bounded = False
    except (ValueError, TypeError, InvalidSignature):
        raise SetupError(
            f"{_REFUSED}: it is not the root certificate of a platform"
        ) from None
    scope = scope_of(found)
    if scope is None or not bounded:
        raise SetupError(
            f"{_REFUSED}: it can sign for any name on the internet. Ask the operator "
            "to replace it: `leyden ca rotate`"
        )
    for domain in scope.domains:
        if "." not in domain and domain not in _OWN_WORDS:
            raise SetupError(f"{_REFUSED}: it can sign for all names below .{domain}")
    return Root(
        pem=found.public_bytes(Encoding.PEM),
        der=found.public_bytes(Encoding.DER),
        scope=scope,
        since=found.not_valid_before_utc,
        until=found.not_valid_after_utc,
        fingerprint=found.fingerprint(hashes.SHA256()).hex(":").upper(),
    )


def check_time(root: Root, now: datetime) -> None:
    """Raise SetupError for a root that has ended, or has not begun."""
    if not root.since <= now < root.until:
        raise SetupError(
            f"{_REFUSED}: it is valid from {root.since:%Y-%m-%d} to "
            f"{root.until:%Y-%m-%d}; check this machine's clock"
        )


def is_fingerprint(root: Root, text: str) -> bool:
    """Return whether it is the root's fingerprint, with colons, spaces, or without."""
    plain = re.sub(r"[\s:]", "", text).lower()
    if not _FINGERPRINT.fullmatch(plain):
        raise SetupError("--fingerprint: must be SHA-256, 64 characters of 0-9 a-f")
    return plain == root.fingerprint.replace(":", "").lower()


class TrustedRoots:
    """A folder of roots, one of a name at a time."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "leyden" / "trusted"

    def keep(self, root: Root) -> Path:
        """Remember a root, in the place of one of the same name; return its file."""
        path = self._folder / f"{root.file_name}.pem"
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, root.pem, mode=_MODE)
        return path

    def forget(self, root: Root) -> None:
        """Forget a root; nothing happens where it is not remembered."""
        (self._folder / f"{root.file_name}.pem").unlink(missing_ok=True)

    def all_(self) -> list[Root]:
        """List them by their names; a file that is no root of ours is left alone."""
        found = []
        for path in sorted(self._folder.glob("leyden-*.pem")):
            try:
                found.append(read(path.read_bytes()))
            except SetupError:
                continue
        return found
