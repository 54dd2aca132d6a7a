"""Certificate signing requests: a new key's public half, and one name."""

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from leyden.nodes.certificates import keys
from leyden.nodes.certificates.keys import load_key


def new_key() -> bytes:
    """Create a key and return it as PEM."""
    return keys.key_pem(keys.new_key())


def request(key_pem: bytes, name: str) -> bytes:
    """Return a signing request for that name and key, as DER."""
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        .sign(load_key(key_pem), hashes.SHA256())
        .public_bytes(Encoding.DER)
    )
