"""Certificates of daemons on this machine, which have no authority."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from leyden.base.files import write_private

_LIFE = dt.timedelta(days=3650)
_BACKDATED = dt.timedelta(hours=1)


def ensure_certificate(
    certificate: Path, *, now: dt.datetime, also_for: str = ""
) -> None:
    """Create a key and certificate for 127.0.0.1 unless they exist.

    The key is stored beside the certificate. `also_for` is an address by which others
    than this machine's programs connect, if any do.
    """
    key_path = certificate.with_suffix(".key")
    if certificate.exists() and key_path.exists():
        return
    certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    addresses = ["127.0.0.1", *([also_for] if also_for else [])]
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "btcd")])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName(
                [
                    x509.DNSName("localhost"),
                    *(x509.IPAddress(ipaddress.ip_address(a)) for a in addresses),
                ]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    write_private(
        key_path,
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ),
    )
    write_private(certificate, signed.public_bytes(serialization.Encoding.PEM))


def heal_certificate(certificate: Path, key: Path) -> None:
    """Delete a damaged certificate and key: the daemon creates new ones.

    They are damaged if the daemon was killed while writing them.
    """
    if not certificate.exists() and not key.exists():
        return
    try:
        ssl.create_default_context().load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        certificate.unlink(missing_ok=True)
        key.unlink(missing_ok=True)
