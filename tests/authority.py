"""A certificate authority of the tests' own, so that nothing of ours vouches for us."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID


class Authority:
    """Signs a certificate for any one name."""

    def __init__(self, name: str = "the tests") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)  # noqa: FBT003
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def sign(self, name: str, *, expired: bool = False) -> tuple[bytes, bytes]:
        """Return a certificate for the name or address, and its key, both PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
        certificate = (
            self._builder(subject, key.public_key(), expired=expired)
            .add_extension(
                x509.SubjectAlternativeName([_general(name)]), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(Encoding.PEM), key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )

    def give(self, folder: Path, name: str) -> None:
        """Put a certificate and its key where lnd looks for them."""
        folder.mkdir(parents=True, exist_ok=True)
        certificate, key = self.sign(name)
        (folder / "tls.cert").write_bytes(certificate)
        (folder / "tls.key").write_bytes(key)

    def _builder(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        *,
        expired: bool = False,
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        ends = now - timedelta(minutes=1) if expired else now + timedelta(days=30)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(ends)
        )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
