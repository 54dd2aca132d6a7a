"""The certificates of a cluster: an authority, and a pair for each client and server.

etcd has an authority of its own, because it accepts every client with a certificate of
its authority, and machines have certificates too.
"""

import datetime as dt
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from leyden.base.files import write_private
from leyden.values import Struct

_LIFE: Final = dt.timedelta(days=3650)
_BACKDATED: Final = dt.timedelta(hours=1)
_USES: Final = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


class Pair(Struct, frozen=True):
    """A certificate and its key, as files in the same folder."""

    certificate: Path

    @property
    def key(self) -> Path:
        """The file of the key."""
        return self.certificate.with_suffix(".key")

    @property
    def exists(self) -> bool:
        """Return whether both files exist."""
        return self.key.exists() and self.certificate.exists()


class Subject(Struct, frozen=True, kw_only=True):
    """The subject of a certificate: a Kubernetes user, or a server by addresses."""

    name: str
    group: str = ""
    names: Sequence[str] = ()
    addresses: Sequence[IPv4Address] = ()


def authority(folder: Path, name: str, *, now: dt.datetime) -> Pair:
    """Return an authority; create it if missing."""
    pair = Pair(folder / f"{name}.crt")
    if not pair.exists:
        key = ec.generate_private_key(ec.SECP256R1())
        made = (
            _begun(Subject(name=f"leyden-{name}"), key, now)
            .issuer_name(_name(Subject(name=f"leyden-{name}")))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        _write(pair, made, key)
    return pair


def issue(by: Pair, file: Path, subject: Subject, *, now: dt.datetime) -> Pair:
    """Write a pair for a subject, signed by an authority; overwrite an earlier one."""
    vouching = x509.load_pem_x509_certificate(by.certificate.read_bytes())
    signing = serialization.load_pem_private_key(by.key.read_bytes(), password=None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)  # noqa: S101  ours are
    key = ec.generate_private_key(ec.SECP256R1())
    begun = (
        _begun(subject, key, now)
        .issuer_name(vouching.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(_USES), critical=False)
    )
    if subject.names or subject.addresses:
        named = [x509.DNSName(each) for each in subject.names]
        addressed = [x509.IPAddress(each) for each in subject.addresses]
        begun = begun.add_extension(
            x509.SubjectAlternativeName([*named, *addressed]), critical=False
        )
    pair = Pair(file)
    _write(pair, begun.sign(signing, hashes.SHA256()), key)
    return pair


def signing_key(file: Path) -> Path:
    """Return the key that signs service accounts' tokens; create it if missing."""
    if not file.exists():
        _write_key(file, ec.generate_private_key(ec.SECP256R1()))
    return file


def _begun(
    subject: Subject, key: ec.EllipticCurvePrivateKey, now: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFE)
    )


def _name(subject: Subject) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, subject.name)]
    if subject.group:
        group = x509.NameAttribute(NameOID.ORGANIZATION_NAME, subject.group)
        parts.insert(0, group)
    return x509.Name(parts)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _write(pair: Pair, made: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    pair.certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_key(pair.key, key)
    write_private(pair.certificate, made.public_bytes(serialization.Encoding.PEM))


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(
        file,
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ),
    )
