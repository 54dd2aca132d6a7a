"""Checks of an uploaded certificate before a node gets it.

It comes from a customer, so its size is checked before any of it is parsed.
The checks run beside the event loop: up to 0.1 s for ten RSA certificates.
"""

from datetime import datetime
from itertools import pairwise
from ssl import SSLError

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from leyden.errors import Malformed
from leyden.lnd.trust import trusting
from leyden.nodes.certificates import pem_key
from leyden.nodes.certificates.expiry import Validity, validity
from leyden.nodes.lnd.home import Tls

_LONGEST_PEM = 64 * 1024
_MAX_CERTIFICATES = 10  # the leaf, what is between, and maybe the root
_BEGIN = "-----BEGIN "  # of a certificate, by whichever of its names
_UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    SSLError,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


def parse(chain_pem: str, key_pem: str, *, name: str, now: datetime) -> Tls:
    """Return a node's uploaded chain and key, or raise what is wrong.

    1. The chain is certificates, each signed by the next.
    2. The first one is for this name, and valid now.
    3. The key is its key, of a kind that lnd can use.
    """
    chain = _chain(chain_pem)
    leaf = chain[0]
    if not _is_for(leaf, name):
        raise Malformed(f"certificate: must be valid for {name}")
    for each in chain:
        if not each.not_valid_before_utc <= now < each.not_valid_after_utc:
            raise Malformed("certificate: has expired, or is not valid yet")
    key = pem_key.parse(key_pem)
    if key.public_key() != leaf.public_key():
        raise Malformed("key: must be the private key of the first certificate")
    return Tls(
        chain_pem=_pem(chain),
        key_pem=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def parse_issued(
    chain_pem: bytes, key_pem: bytes, *, name: str, now: datetime
) -> tuple[Tls, Validity]:
    """Return a chain that an authority issued, with its key, and its validity."""
    text = chain_pem.decode(errors="replace")
    tls = parse(text, key_pem.decode(), name=name, now=now)
    return tls, validity(tls.chain_pem)


def _chain(pem: str) -> list[x509.Certificate]:
    if len(pem) > _LONGEST_PEM:
        raise Malformed(f"certificate: at most {_LONGEST_PEM // 1024} KiB are allowed")
    if pem.count(_BEGIN) > _MAX_CERTIFICATES:
        raise Malformed(
            f"certificate: at most {_MAX_CERTIFICATES} certificates are allowed"
        )
    try:
        chain = x509.load_pem_x509_certificates(pem.encode())
        for each in chain:
            _check_key(each)
            # Names are read on demand. Whoever looks later for certificates of our own
            # reads those of all nodes: a single bad one would stop that for everybody.
            _ = each.subject, each.issuer
        for each, signer in pairwise(chain):
            each.verify_directly_issued_by(signer)
        trusting(_pem(chain).decode())  # OpenSSL has to read it to watch the node's lnd
    except _UNREADABLE:
        raise Malformed(
            "certificate: must be a PEM chain, each certificate issued by the next"
        ) from None
    except InvalidSignature:
        raise Malformed(
            "certificate: must be signed by the next certificate in the chain"
        ) from None
    return chain


def _pem(chain: list[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in chain)


def _check_key(certificate: x509.Certificate) -> None:
    """Raise for keys whose signatures cannot be verified quickly."""
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        usable = (
            key.key_size in pem_key.RSA_BITS
            and key.public_numbers().e <= pem_key.LARGEST_EXPONENT
        )
    elif isinstance(key, ec.EllipticCurvePublicKey):
        usable = isinstance(key.curve, pem_key.CURVES)
    else:
        usable = isinstance(key, ed25519.Ed25519PublicKey)
    if not usable:
        raise Malformed(
            "certificate: keys must be elliptic curve (P-256, P-384, P-521), Ed25519, "
            "or RSA with 2048 to 4096 bits"
        )


def _is_for(leaf: x509.Certificate, name: str) -> bool:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, *_UNREADABLE):
        return False
    _, _, domain = name.partition(".")
    covered = {it.lower() for it in names.value.get_values_for_type(x509.DNSName)}
    return bool(covered & {name.lower(), f"*.{domain}".lower()})
