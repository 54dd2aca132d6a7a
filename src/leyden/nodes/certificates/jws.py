"""Signed ACME requests: JSON Web Signatures with P-256 keys (RFC 7515)."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

_COORDINATE: Final = 32


def signed(
    key: ec.EllipticCurvePrivateKey,
    payload: object,
    *,
    url: str,
    nonce: str,
    account: str = "",
) -> bytes:
    """Sign a request to a URL; without an account, include the public key.

    A payload of None is a plain read: its body is empty, and signed as well.
    """
    known = {"kid": account} if account else {"jwk": public(key)}
    protected = {"alg": "ES256", "nonce": nonce, "url": url, **known}
    first, second = _encoded(protected), _encoded(payload)
    der = key.sign(f"{first}.{second}".encode(), ec.ECDSA(hashes.SHA256()))
    signature = b"".join(
        part.to_bytes(_COORDINATE, "big") for part in decode_dss_signature(der)
    )
    return _to_bytes(first, second, signature)


def bound(
    key: ec.EllipticCurvePrivateKey, *, url: str, kid: str, secret: str
) -> object:
    """Return the binding of the key to an existing account (EAB)."""
    first = _encoded({"alg": "HS256", "kid": kid, "url": url})
    second = _encoded(public(key))
    padded = secret + "=" * (-len(secret) % 4)
    shared = base64.b64decode(padded, altchars=b"-_", validate=True)
    digest = hmac.digest(shared, f"{first}.{second}".encode(), "sha256")
    return json.loads(_to_bytes(first, second, digest))


def thumbprint(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the key's thumbprint (RFC 7638); it is not secret."""
    canonical = json.dumps(public(key), sort_keys=True, separators=(",", ":"))
    return base64url(hashlib.sha256(canonical.encode()).digest())


def public(key: ec.EllipticCurvePrivateKey) -> Mapping[str, str]:
    """Return the public half as JSON."""
    numbers = key.public_key().public_numbers()
    return {
        "crv": "P-256",
        "kty": "EC",
        "x": base64url(numbers.x.to_bytes(_COORDINATE, "big")),
        "y": base64url(numbers.y.to_bytes(_COORDINATE, "big")),
    }


def base64url(value: bytes) -> str:
    """Encode as base64url without padding."""
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _encoded(value: object) -> str:
    return "" if value is None else base64url(json.dumps(value).encode())


def _to_bytes(protected: str, payload: str, signature: bytes) -> bytes:
    return json.dumps(
        {
            "protected": protected,
            "payload": payload,
            "signature": base64url(signature),
        }
    ).encode()
