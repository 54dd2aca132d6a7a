"""Who vouches for a node: the platform's own authority, and one chain per node.

root (20 years, its key may be taken offline) signs the intermediate (10 years), which
signs each node's certificate (a year, only the node's own name in it).

What a node serves is its certificate and the intermediate. What a client is given to
trust, `trusted`, ends with the root: curl and Python, which want a root, verify the
node then, and so does Go; and a file saved once goes on to work after the node's
certificate was renewed.

FOLDER/
├── root.pem
├── root.key           0600, needed again only to renew the intermediate
└── intermediate.pem   0600, with its key in it: one file is never half renewed
"""

import hashlib
import ssl
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leyden.errors import SetupError
from leyden.lnd.home import Tls

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.types import (
        CertificatePublicKeyTypes,
    )

    from leyden.gateway.signing import Signer

LEAF_LIFE: Final = timedelta(days=365)


class Authority:
    """What it takes to vouch for nodes: no root key.

    Read at once, and understood when it is first used, or by `check`: the first
    answers after a start need no certificate, and do not wait for what reads them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            # What a client has to trust, once for all nodes.
            self.root_pem = (folder / "root.pem").read_bytes()
            self._intermediate_pem = (folder / "intermediate.pem").read_bytes()
        except OSError as error:
            raise SetupError(
                f"the certificate authority in {folder}: {error.strerror}; run `leyden "
                "migrate`, which makes that of a new installation, or restore the "
                "folder from your backup"
            ) from None

    @cached_property
    def _signer(self) -> "Signer":
        from leyden.gateway.signing import opened  # noqa: PLC0415  a tenth of a start

        return opened(
            self._folder,
            root_pem=self.root_pem,
            intermediate_pem=self._intermediate_pem,
        )

    @property
    def digest(self) -> str:
        """Give the root's SHA-256 in hex, without understanding the rest of it."""
        try:
            der = ssl.PEM_cert_to_DER_cert(self.root_pem.decode())
        except ValueError:
            self.check()  # which says it so that it can be mended
            raise
        return hashlib.sha256(der).hexdigest()

    def check(self) -> None:
        """Say what is wrong with it, if anything is."""
        _ = self._signer

    @property
    def root(self) -> "x509.Certificate":
        """Give what vouches for the intermediate."""
        return self._signer.root

    @property
    def intermediate(self) -> "x509.Certificate":
        """Give what vouches for nodes."""
        return self._signer.intermediate

    @property
    def key(self) -> "ec.EllipticCurvePrivateKey":
        """Give the intermediate's."""
        return self._signer.key

    @property
    def fingerprint(self) -> str:
        """Give the root's, as browsers show it: SHA-256, in pairs."""
        return self._signer.fingerprint

    def issue(self, name: str, *, now: datetime) -> Tls:
        """Give a node a new key, and the chain that it serves."""
        return self._signer.issue(name, until=now + LEAF_LIFE, now=now)

    def certify(
        self,
        name: str,
        key: "CertificatePublicKeyTypes",
        *,
        since: datetime,
        until: datetime,
    ) -> bytes:
        """Vouch for whoever holds the key; give the chain."""
        return self._signer.certify(name, key, since=since, until=until)

    def trusted(self, chain_pem: bytes) -> bytes:
        """Give the chain with the root at its end: a CA file for clients of the node.

        A chain of somebody else, handed in by the owner, is given as it is.
        """
        return chain_pem + self.root_pem if self.issued(chain_pem) else chain_pem

    def issued(self, chain_pem: bytes) -> bool:
        """Tell whether a chain is ours, and was not handed in by somebody."""
        return self._signer.issued(chain_pem)


def found_or_created(folder: Path, *, now: datetime) -> Authority:
    """Give the authority of a folder as it lies there; the first time, make it."""
    if not (folder / "intermediate.pem").exists():
        from leyden.gateway import signing  # noqa: PLC0415  a tenth of a start

        signing.create(folder, now)
    return Authority(folder)


def open_or_create(folder: Path, *, now: datetime) -> Authority:
    """Give the authority of a folder, which is as it should be."""
    authority = found_or_created(folder, now=now)
    authority.check()
    return authority


def renew_intermediate(folder: Path, *, now: datetime) -> Authority:
    """Have the root sign a new intermediate; root.key has to be there for it.

    Nodes go on with the chains they have, which stay valid, until they are restarted.
    """
    from leyden.gateway import signing  # noqa: PLC0415  a tenth of a start

    signing.renew_intermediate(folder, now=now)
    return open_or_create(folder, now=now)
