"""The platform's certificate authority, and a chain for each node.

root (10 years, its key sealed or taken offline) signs the intermediate (5
years), which signs each node's certificate (a year, only the node's own
name in it). Root and intermediate are constrained to the installation's
names (`constraints`).

A node serves its certificate and the intermediate. The file for clients to
trust, `trusted`, ends with the root: curl and Python, which need a root,
can then verify the node, and so can Go; and a file saved once keeps working
after the node's certificate was renewed.

FOLDER/
├── root.pem
├── root.key.sealed    0600, needed again only to renew the intermediate
└── intermediate.pem   0600, with its key in it: one file is never half renewed
"""

import hashlib
import ssl
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

from leyden.errors import SetupError
from leyden.lnd.trust import issuer_of
from leyden.nodes.certificates import previous_authorities, signing
from leyden.nodes.certificates.constraints import CertificateScope
from leyden.nodes.certificates.signing import Seal, Signer, open_signer
from leyden.nodes.lnd.home import Tls

LEAF_LIFE: Final = timedelta(days=365)


class Authority:
    """The certificates and key that sign nodes' certificates: no root key.

    The files are read at once, and parsed at the first use or by `check`: the
    first requests after a start need no certificate.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if previous_authorities.is_under_way(folder):
            raise SetupError(
                f"the certificate authority in {folder}: its rotation was interrupted; "
                "run `leyden ca rotate` again"
            )
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
        self._former = previous_authorities.roots(folder)

    @cached_property
    def _signer(self) -> Signer:
        return open_signer(
            self._folder,
            root_pem=self.root_pem,
            intermediate_pem=self._intermediate_pem,
        )

    @property
    def digest(self) -> str:
        """Return the root's SHA-256 in hex, without understanding the rest of it."""
        try:
            der = ssl.PEM_cert_to_DER_cert(self.root_pem.decode())
        except ValueError:
            self.check()  # which says it so that it can be mended
            raise
        return hashlib.sha256(der).hexdigest()

    @property
    def anchors_pem(self) -> bytes:
        """Return the root, and former roots that nodes still show."""
        return b"".join((self.root_pem, *self._former))

    @property
    def has_former(self) -> bool:
        """Return whether certificates of a former authority may still be shown."""
        return bool(self._former)

    @cached_property
    def _former_subjects(self) -> dict[x509.Name, bytes]:
        loaded = x509.load_pem_x509_certificate
        return {loaded(pem).subject: pem for pem in self._former}

    def forget_former(self) -> None:
        """Delete former roots: no node shows a certificate of theirs any more."""
        previous_authorities.forget(self._folder)
        self._former = ()
        self.__dict__.pop("_former_subjects", None)

    def check(self) -> None:
        """Raise SetupError if anything is wrong with it."""
        _ = self._signer

    @property
    def scope(self) -> CertificateScope | None:
        """Return the names that it may certify; None: any name."""
        return self._signer.scope

    @property
    def root(self) -> x509.Certificate:
        """Return what vouches for the intermediate."""
        return self._signer.root

    @property
    def intermediate(self) -> x509.Certificate:
        """Return what vouches for nodes."""
        return self._signer.intermediate

    @property
    def key(self) -> ec.EllipticCurvePrivateKey:
        """Return the intermediate's key."""
        return self._signer.key

    @property
    def fingerprint(self) -> str:
        """Return the root's fingerprint as browsers show it: SHA-256, in pairs."""
        return self._signer.fingerprint

    def issue(self, name: str, *, now: datetime, also: Sequence[str] = ()) -> Tls:
        """Create a key, and the chain that is served with it, for these names."""
        return self._signer.issue(name, until=now + LEAF_LIFE, now=now, also=also)

    def certify(
        self,
        name: str,
        key: CertificatePublicKeyTypes,
        *,
        since: datetime,
        until: datetime,
    ) -> bytes:
        """Issue a certificate for the key; return the chain."""
        return self._signer.certify(name, key, since=since, until=until)

    def trusted(self, chain_pem: bytes) -> bytes:
        """Return the chain with the root at its end: a CA file for clients of the node.

        A chain of another authority, which its owner uploaded, is returned as it is.
        """
        return chain_pem + self._root_of(chain_pem)

    def others(self, chain_pem: bytes) -> bytes:
        """Return the other roots, as PEM, that a node of this chain may show later.

        Until no node shows a former authority's certificate any more, clients are given
        that root too: a file that was saved meanwhile is good for all nodes.
        """
        own = self._root_of(chain_pem)
        return b"".join(each for each in (self.root_pem, *self._former) if each != own)

    def issued(self, chain_pem: bytes) -> bool:
        """Return whether a chain is ours, and was not uploaded by an owner."""
        return bool(self._root_of(chain_pem))

    def is_current(self, chain_pem: bytes) -> bool:
        """Return whether a chain is of this authority, not of a former one."""
        return self._signer.issued(chain_pem)

    def _root_of(self, chain_pem: bytes) -> bytes:
        if self._signer.issued(chain_pem):
            return self.root_pem
        if not self._former:
            return b""
        issuer = issuer_of(chain_pem)
        return self._former_subjects.get(issuer, b"") if issuer is not None else b""


def open_or_create(
    folder: Path,
    *,
    now: datetime,
    scope: CertificateScope | None = None,
    seal: Seal | None = None,
    unseal: Seal | None = None,
) -> Authority:
    """Return the authority of a folder, which is as it should be.

    Without a scope, as earlier versions made them, it may vouch for any name.
    """
    if not (folder / "intermediate.pem").exists():
        signing.create(folder, now, scope=scope, seal=seal, unseal=unseal)
    authority = Authority(folder)
    authority.check()
    return authority


def renew_intermediate(
    folder: Path, *, now: datetime, unseal: Seal | None = None
) -> Authority:
    """Sign a new intermediate with the root; the root's key has to be there for it.

    Nodes go on with the chains they have, which stay valid, until they are restarted.
    """
    signing.renew_intermediate(folder, now=now, unseal=unseal)
    return open_or_create(folder, now=now)
