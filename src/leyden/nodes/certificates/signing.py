"""Signing by the platform's authority: its own certificates, and those of nodes."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from leyden.base.files import write_private, write_whole
from leyden.base.processes import locked
from leyden.errors import SetupError
from leyden.lnd.trust import issuer_of
from leyden.nodes.certificates.certificate import authority_name, pem, sign
from leyden.nodes.certificates.constraints import (
    CertificateScope,
    check_covers,
    general_names,
    scope_of,
)
from leyden.nodes.certificates.keys import key_pem, load_key, new_key
from leyden.nodes.lnd.home import Tls
from leyden.values import Struct, hiding

ROOT_LIFE: Final = timedelta(days=10 * 365)
INTERMEDIATE_LIFE: Final = timedelta(days=5 * 365)
_WAY_OUT: Final = (
    "restore this folder from your backup; without one move it away, run `leyden "
    "migrate` and `leyden data-dir adopt --new-authority`, and give clients the new "
    "root"
)
ROOT_KEY: Final = "root.key"
SEALED_ROOT_KEY: Final = "root.key.sealed"
# Seals a root's key with the installation's keys, or opens it.
Seal = Callable[[bytes], bytes]


class Signer(Struct, frozen=True):
    """The certificates and key that sign nodes' certificates: no root key."""

    root: x509.Certificate
    intermediate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    scope: CertificateScope | None = None  # what it may vouch for; None: anything

    __repr__ = hiding("key")

    @property
    def fingerprint(self) -> str:
        """Return the root's fingerprint as browsers show it: SHA-256, in pairs."""
        return self.root.fingerprint(hashes.SHA256()).hex(":").upper()

    def issue(
        self, name: str, *, now: datetime, until: datetime, also: Sequence[str] = ()
    ) -> Tls:
        """Create a key, and the chain that is served with it."""
        key = new_key()
        until = min(until, self.intermediate.not_valid_after_utc)
        public = key.public_key()
        chain = self.certify(name, public, since=now, until=until, also=also)
        return Tls(chain_pem=chain, key_pem=key_pem(key))

    def certify(
        self,
        name: str,
        key: CertificatePublicKeyTypes,
        *,
        since: datetime,
        until: datetime,
        also: Sequence[str] = (),
    ) -> bytes:
        """Issue a certificate for the key and these names; return the chain."""
        names = (name, *also)
        check_covers(self.scope, names, setting="nodes_domain")
        certificate = sign(
            # A common name has room for 64 characters; nobody reads it any more.
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])]),
            key,
            issuer=self.intermediate.subject,
            issuer_key=self.key,
            since=since,
            until=until,
            extensions=(
                x509.BasicConstraints(ca=False, path_length=None),
                x509.SubjectAlternativeName(general_names(names)),
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
            ),
        )
        return pem(certificate) + pem(self.intermediate)

    def issued(self, chain_pem: bytes) -> bool:
        """Return whether a chain is ours, and was not uploaded by an owner."""
        return issuer_of(chain_pem) == self.root.subject


def open_signer(folder: Path, *, root_pem: bytes, intermediate_pem: bytes) -> Signer:
    """Parse the files of a folder, or raise what is wrong with them."""
    try:
        root = x509.load_pem_x509_certificate(root_pem)
        intermediate = x509.load_pem_x509_certificate(intermediate_pem)
        key = load_key(intermediate_pem)
        intermediate.verify_directly_issued_by(root)
    except (ValueError, InvalidSignature) as error:
        why = f"root.pem or intermediate.pem: {error}; {_WAY_OUT}"
        raise SetupError(f"the certificate authority in {folder}: {why}") from None
    if key.public_key() != intermediate.public_key():
        raise SetupError(
            f"{folder}/intermediate.pem has the key of another one; {_WAY_OUT}"
        )
    _check_root_key(folder, root)
    return Signer(root, intermediate, key, scope_of(intermediate))


def _check_root_key(folder: Path, root: x509.Certificate) -> None:
    """Raise for a root key that does not match the root: it renews nothing."""
    try:
        pem = (folder / ROOT_KEY).read_bytes()
    except OSError:
        return  # kept elsewhere, as it may be
    try:
        belongs = load_key(pem).public_key() == root.public_key()
        why = "" if belongs else "does not belong to root.pem"
    except ValueError as error:
        why = f"cannot be used: {error}"
    if why:
        raise SetupError(
            f"the certificate authority in {folder}: root.key {why}; move root.key "
            "away (nodes do not need it), and bring the right one back from your "
            "backup before the intermediate ends"
        )


def renew_intermediate(
    folder: Path, *, now: datetime, unseal: Seal | None = None
) -> None:
    """Sign a new intermediate with the root; the root's key has to be there for it."""
    try:
        root = x509.load_pem_x509_certificate((folder / "root.pem").read_bytes())
    except ValueError as error:
        why = f"root.pem: {error}; {_WAY_OUT}"
        raise SetupError(f"the certificate authority in {folder}: {why}") from None
    _check_root_key(folder, root)
    root_key = load_key(_root_key_pem(folder, unseal))
    if root_key.public_key() != root.public_key():
        raise SetupError(
            f"the certificate authority in {folder}: {SEALED_ROOT_KEY} does not belong "
            "to root.pem; bring the right one back from your backup"
        )
    _write_intermediate(folder, root, root_key, now, scope_of(root))


def _root_key_pem(folder: Path, unseal: Seal | None) -> bytes:
    if (plain := folder / ROOT_KEY).exists():
        return plain.read_bytes()
    sealed = folder / SEALED_ROOT_KEY
    if unseal is None or not sealed.exists():
        raise SetupError(
            f"{folder}: a new intermediate.pem needs root.key; bring it back from "
            "where you keep it"
        )
    return unseal(sealed.read_bytes())


def seal_root_key(folder: Path, seal: Seal) -> None:
    """Seal a root key that lies there open: only a new intermediate needs it."""
    plain = folder / ROOT_KEY
    if plain.exists():
        write_private(folder / SEALED_ROOT_KEY, seal(plain.read_bytes()))
        plain.unlink()


def create(
    folder: Path,
    now: datetime,
    *,
    scope: CertificateScope | None = None,
    seal: Seal | None = None,
    unseal: Seal | None = None,
) -> None:
    """Create root and intermediate, unless another process already has.

    intermediate.pem is written last and marks the end. A root that is there already is
    kept, whether this was interrupted or intermediate.pem is lost: clients may trust
    it. With a `scope` both vouch for nothing else; with `seal` the root's key is never
    written open.
    """
    with locked(folder.with_name(f".{folder.name}.lock")):
        folder.mkdir(mode=0o700, exist_ok=True)
        if (folder / "intermediate.pem").exists():
            return
        if (folder / "root.pem").exists():
            renew_intermediate(folder, now=now, unseal=unseal)
        else:
            _create(folder, now, scope, seal)


def _create(
    folder: Path, now: datetime, scope: CertificateScope | None, seal: Seal | None
) -> None:
    key = new_key()
    name = authority_name("Leyden root")
    bounds = scope.extensions() if scope else ()
    root = sign(
        name,
        key.public_key(),
        issuer=name,
        issuer_key=key,
        since=now,
        until=now + ROOT_LIFE,
        extensions=(x509.BasicConstraints(ca=True, path_length=1), *bounds),
    )
    if seal is None:
        write_private(folder / ROOT_KEY, key_pem(key))
    else:
        write_private(folder / SEALED_ROOT_KEY, seal(key_pem(key)))
    write_whole(folder / "root.pem", pem(root), mode=0o644)
    _write_intermediate(folder, root, key, now, scope)


def _write_intermediate(
    folder: Path,
    root: x509.Certificate,
    root_key: ec.EllipticCurvePrivateKey,
    now: datetime,
    scope: CertificateScope | None,
) -> None:
    key = new_key()
    bounds = scope.extensions() if scope else ()
    certificate = sign(
        authority_name("Leyden nodes"),
        key.public_key(),
        issuer=root.subject,
        issuer_key=root_key,
        since=now,
        until=min(now + INTERMEDIATE_LIFE, root.not_valid_after_utc),
        extensions=(x509.BasicConstraints(ca=True, path_length=0), *bounds),
    )
    write_private(folder / "intermediate.pem", pem(certificate) + key_pem(key))
