"""Certificate signing requests: a new key's public half, and one name."""

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
    """Create a key and return it as PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )


def load_key(key_pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Load a key that `new_key` created."""
    key = load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("a key of ours is on a curve")
    return key


def request(key_pem: bytes, name: str) -> bytes:
    """Return a signing request for that name and key, as DER."""
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        .sign(load_key(key_pem), hashes.SHA256())
        .public_bytes(Encoding.DER)
    )
