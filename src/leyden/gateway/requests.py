"""What is sent to be signed: a new key's public half, and the one name it is for."""

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


def new_key() -> bytes:
    """Make a key, as PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )


def opened_key(key_pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Read a key that was made here."""
    key = load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("a key of ours is on a curve")
    return key


def request(key_pem: bytes, name: str) -> bytes:
    """Ask for a certificate of that name for that key; DER."""
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        .sign(opened_key(key_pem), hashes.SHA256())
        .public_bytes(Encoding.DER)
    )
