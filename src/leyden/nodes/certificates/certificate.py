"""X.509 certificates as this platform signs them."""

from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

_CRITICAL: Final = (x509.BasicConstraints, x509.KeyUsage, x509.NameConstraints)
# Clocks differ: a certificate of this second is not yet valid to one that is behind.
_BACKDATED: Final = timedelta(hours=1)


def sign(
    subject: x509.Name,
    key: CertificatePublicKeyTypes,
    *,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    since: datetime,
    until: datetime,
    extensions: tuple[x509.ExtensionType, ...],
) -> x509.Certificate:
    """Sign a certificate; the first extension is its CA constraint."""
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
        critical = isinstance(extension, _CRITICAL)
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(issuer_key, hashes.SHA256())


def authority_name(common_name: str) -> x509.Name:
    """Return the name of a new authority."""
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


def pem(certificate: x509.Certificate) -> bytes:
    """Return a certificate as PEM."""
    return certificate.public_bytes(Encoding.PEM)
