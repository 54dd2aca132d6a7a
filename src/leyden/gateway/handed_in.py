"""A certificate that somebody else has issued, looked at before a node gets it."""

from datetime import datetime
from itertools import pairwise
from typing import TypeGuard

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from leyden.errors import Malformed
from leyden.lnd.home import Tls

_LONGEST_PEM = 64 * 1024
# What Go's TLS can use, and clients still accept.
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_RSA_BITS = range(2048, 8193)
_Usable = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def accept(chain_pem: str, key_pem: str, *, name: str, now: datetime) -> Tls:
    """Take a chain and its key for a node of that name, or say what is wrong.

    1. The chain is certificates, each signed by the next.
    2. The first one is for this name, and valid now.
    3. The key is its key, of a kind that lnd can use.
    """
    chain = _chain(chain_pem)
    leaf = chain[0]
    if not _is_for(leaf, name):
        raise Malformed(f"certificate: is not for {name}")
    for each in chain:
        if not each.not_valid_before_utc <= now < each.not_valid_after_utc:
            raise Malformed("certificate: is not valid at this time")
    try:
        key = load_pem_private_key(key_pem.encode(), password=None)
    except (ValueError, TypeError):
        raise Malformed("key: is not a PEM key without a password") from None
    if not _can_be_used(key):
        raise Malformed(
            "key: must be an elliptic curve key (P-256, P-384, P-521), or an RSA key "
            "of 2048 to 8192 bits"
        )
    if key.public_key() != leaf.public_key():
        raise Malformed("key: is not the key of the first certificate")
    return Tls(
        chain_pem=b"".join(each.public_bytes(Encoding.PEM) for each in chain),
        key_pem=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _can_be_used(key: object) -> TypeGuard[_Usable]:
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return isinstance(key.curve, _CURVES)
    return isinstance(key, rsa.RSAPrivateKey) and key.key_size in _RSA_BITS


def _chain(pem: str) -> list[x509.Certificate]:
    if len(pem) > _LONGEST_PEM:
        raise Malformed("certificate: is too long")
    try:
        chain = x509.load_pem_x509_certificates(pem.encode())
        for each, signer in pairwise(chain):
            each.verify_directly_issued_by(signer)
    except (ValueError, TypeError):
        raise Malformed(
            "certificate: must be PEM certificates, each issued by the next"
        ) from None
    except InvalidSignature:
        raise Malformed("certificate: is not signed by the next one") from None
    return chain


def _is_for(leaf: x509.Certificate, name: str) -> bool:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, ValueError):
        return False
    _, _, domain = name.partition(".")
    covered = {it.lower() for it in names.value.get_values_for_type(x509.DNSName)}
    return bool(covered & {name.lower(), f"*.{domain}".lower()})
