"""How the platform's authority signs: what `certificates.py` calls, and nobody else.

Apart from it because of what it imports, which is a tenth of a start.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from leyden.errors import SetupError
from leyden.files import write_private, write_whole
from leyden.lnd.home import Tls
from leyden.processes import alone
from leyden.values import Struct, hiding

ROOT_LIFE: Final = timedelta(days=20 * 365)
INTERMEDIATE_LIFE: Final = timedelta(days=10 * 365)
_WAY_OUT: Final = (
    "restore this folder from your backup; without one move it away, run `leyden "
    "migrate` and `leyden home adopt --new-authority`, and give clients the new root"
)
# Clocks differ: a certificate of this second is not yet valid to one that is behind.
_BACKDATED: Final = timedelta(hours=1)


def new_key() -> ec.EllipticCurvePrivateKey:
    """Make a key from the system's randomness."""
    return ec.generate_private_key(ec.SECP256R1())


class Signer(Struct, frozen=True):
    """What it takes to vouch for nodes: no root key."""

    root: x509.Certificate
    intermediate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    __repr__ = hiding("key")

    @property
    def fingerprint(self) -> str:
        """Give the root's, as browsers show it: SHA-256, in pairs."""
        return self.root.fingerprint(hashes.SHA256()).hex(":").upper()

    def issue(self, name: str, *, now: datetime, until: datetime) -> Tls:
        """Give a node a new key, and the chain that it serves."""
        key = new_key()
        until = min(until, self.intermediate.not_valid_after_utc)
        chain = self.certify(name, key.public_key(), since=now, until=until)
        return Tls(chain_pem=chain, key_pem=_key_pem(key))

    def certify(
        self,
        name: str,
        key: CertificatePublicKeyTypes,
        *,
        since: datetime,
        until: datetime,
    ) -> bytes:
        """Vouch for whoever holds the key; give the chain."""
        certificate = _sign(
            # A common name has room for 64 characters; nobody reads it any more.
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])]),
            key,
            issuer=self.intermediate.subject,
            issuer_key=self.key,
            since=since,
            until=until,
            extensions=(
                x509.BasicConstraints(ca=False, path_length=None),
                x509.SubjectAlternativeName([x509.DNSName(name)]),
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
            ),
        )
        return _pem(certificate) + _pem(self.intermediate)

    def issued(self, chain_pem: bytes) -> bool:
        """Tell whether a chain is ours, and was not handed in by somebody."""
        last = x509.load_pem_x509_certificates(chain_pem)[-1]
        return last.issuer == self.root.subject


def opened(folder: Path, *, root_pem: bytes, intermediate_pem: bytes) -> Signer:
    """Understand what was read in a folder, or say what is wrong with it."""
    try:
        root = x509.load_pem_x509_certificate(root_pem)
        intermediate = x509.load_pem_x509_certificate(intermediate_pem)
        key = load_pem_private_key(intermediate_pem, password=None)
        intermediate.verify_directly_issued_by(root)
    except (ValueError, InvalidSignature) as error:
        why = f"the certificate authority in {folder}: {error}; {_WAY_OUT}"
        raise SetupError(why) from None
    if (
        not isinstance(key, ec.EllipticCurvePrivateKey)
        or key.public_key() != intermediate.public_key()
    ):
        raise SetupError(
            f"{folder}/intermediate.pem has the key of another one; {_WAY_OUT}"
        )
    _check_root_key(folder, root)
    return Signer(root, intermediate, key)


def _check_root_key(folder: Path, root: x509.Certificate) -> None:
    """Refuse a root key that is there and is not the root's: it renews nothing."""
    try:
        pem = (folder / "root.key").read_bytes()
    except OSError:
        return  # kept elsewhere, as it may be
    try:
        belongs = load_pem_private_key(pem, None).public_key() == root.public_key()
    except ValueError:
        belongs = False
    if not belongs:
        raise SetupError(
            f"the certificate authority in {folder}: root.key does not belong to "
            "root.pem; move root.key away (nodes do not need it), and bring the right "
            "one back from your backup before the intermediate ends"
        )


def renew_intermediate(folder: Path, *, now: datetime) -> None:
    """Have the root sign a new intermediate; root.key has to be there for it."""
    try:
        root = x509.load_pem_x509_certificate((folder / "root.pem").read_bytes())
        root_key = load_pem_private_key(
            (folder / "root.key").read_bytes(), password=None
        )
    except FileNotFoundError:
        raise SetupError(f"{folder}/root.key: bring it back for this") from None
    if not isinstance(root_key, ec.EllipticCurvePrivateKey):
        raise SetupError(f"{folder}/root.key is not a key of ours")
    _check_root_key(folder, root)
    _write_intermediate(folder, root, root_key, now)


def create(folder: Path, now: datetime) -> None:
    """Make root and intermediate, unless another process has made them meanwhile.

    intermediate.pem comes last and says that it is done.
    """
    with alone(folder.with_name(f".{folder.name}.lock")):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not (folder / "intermediate.pem").exists():
            _create(folder, now)


def _create(folder: Path, now: datetime) -> None:
    key = new_key()
    name = _authority_name("Leyden root")
    root = _sign(
        name,
        key.public_key(),
        issuer=name,
        issuer_key=key,
        since=now,
        until=now + ROOT_LIFE,
        extensions=(x509.BasicConstraints(ca=True, path_length=1),),
    )
    write_private(folder / "root.key", _key_pem(key))
    write_whole(folder / "root.pem", _pem(root), mode=0o644)
    _write_intermediate(folder, root, key, now)


def _write_intermediate(
    folder: Path,
    root: x509.Certificate,
    root_key: ec.EllipticCurvePrivateKey,
    now: datetime,
) -> None:
    key = new_key()
    certificate = _sign(
        _authority_name("Leyden nodes"),
        key.public_key(),
        issuer=root.subject,
        issuer_key=root_key,
        since=now,
        until=min(now + INTERMEDIATE_LIFE, root.not_valid_after_utc),
        extensions=(x509.BasicConstraints(ca=True, path_length=0),),
    )
    write_private(folder / "intermediate.pem", _pem(certificate) + _key_pem(key))


def _sign(
    subject: x509.Name,
    key: CertificatePublicKeyTypes,
    *,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    since: datetime,
    until: datetime,
    extensions: tuple[x509.ExtensionType, ...],
) -> x509.Certificate:
    """Sign a certificate; the first extension says whether it may sign others."""
    builder = (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(since - _BACKDATED)
        .not_valid_after(until)
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
    )
    signs = isinstance(extensions[0], x509.BasicConstraints) and extensions[0].ca
    for extension in (
        *extensions,
        _usage(signs=signs),
        x509.SubjectKeyIdentifier.from_public_key(key),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
    ):
        critical = isinstance(extension, x509.BasicConstraints | x509.KeyUsage)
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(issuer_key, hashes.SHA256())


def _authority_name(common_name: str) -> x509.Name:
    # Two installations' authorities must not look the same to who trusts both.
    number = f"{x509.random_serial_number():040x}"[:8]
    named = x509.NameAttribute(NameOID.COMMON_NAME, f"{common_name} {number}")
    return x509.Name([named])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
