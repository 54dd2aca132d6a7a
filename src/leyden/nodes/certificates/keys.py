"""Keys of our own: P-256, as PEM without a password; and signing requests for them."""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


def new_key() -> ec.EllipticCurvePrivateKey:
    """Create a key from the system's randomness."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a key as PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Load a key of ours; raise ValueError, which says why, for anything else."""
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise ValueError("the key has a password") from None
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key is not on an elliptic curve")  # noqa: TRY004
    return key


def signing_request(key_pem: bytes, name: str) -> bytes:
    """Return a signing request for that name and key, as DER."""
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        .sign(load_key(key_pem), hashes.SHA256())
        .public_bytes(Encoding.DER)
    )
