"""Checks of an uploaded private key: its size before its content.

Loading an RSA key checks that its primes are primes, which takes the cube
of their length: 14 s for 6,700 characters, 92 s for 15,000, holding
Python's lock. So the length of the modulus is read first, and the primality
of the two numbers is not checked: that they belong to the certificate is,
and lnd needs no more.
"""

import re
from base64 import b64decode
from typing import Final

from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_der_private_key

from leyden.errors import Malformed

LONGEST_PEM: Final = 8 * 1024  # 4096 bits of RSA take 3.3 KiB
# What Go's TLS can use, and clients still accept.
CURVES: Final = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
RSA_BITS: Final = range(2048, 4097)
LARGEST_EXPONENT: Final = 2**31 - 1  # Go refuses a larger one
Usable = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_PEM: Final = re.compile(
    r"-----BEGIN (?:RSA |EC )?PRIVATE KEY-----([A-Za-z0-9+/=\s]+)"
    r"-----END (?:RSA |EC )?PRIVATE KEY-----"
)
_RSA = bytes.fromhex("2a864886f70d010101")  # 1.2.840.113549.1.1.1
_NO_PEM = "key: must be a PEM key without a password"
_NOT_USABLE = (
    "key: must be an elliptic curve key (P-256, P-384, P-521), or an RSA key "
    f"of {RSA_BITS.start} to {RSA_BITS.stop - 1} bits"
)
_INTEGER: Final = 0x02
_OCTETS: Final = 0x04
_NAME: Final = 0x06
_SEQUENCE: Final = 0x30
_LONG = 0x80  # the length takes as many bytes as the other bits say
_MAX_LENGTH_BYTES = 3


class _Der:
    """A part of a DER file; its methods raise ValueError if it is invalid."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def tag(self) -> int:
        """Return the next element's tag, 0 at the end."""
        return self._data[self._at] if self._at < len(self._data) else 0

    def take(self, tag: int) -> bytes:
        """Return the next element's content and skip the element."""
        if self.tag() != tag:
            raise ValueError("another tag")
        at, length = self._length(self._at + 1)
        if at + length > len(self._data):
            raise ValueError("too short")
        self._at = at + length
        return self._data[at : at + length]

    def enter(self, tag: int) -> "_Der":
        """Return a reader for the next element's content."""
        return _Der(self.take(tag))

    def integer_bits(self) -> int:
        """Return the bit length of the next integer and skip it."""
        content = self.take(_INTEGER).lstrip(b"\0")
        return len(content) * 8 - (8 - content[0].bit_length() if content else 0)

    def _length(self, at: int) -> tuple[int, int]:
        if at >= len(self._data):
            raise ValueError("too short")
        first, at = self._data[at], at + 1
        if first < _LONG:
            return at, first
        count = first - _LONG
        if not 0 < count <= _MAX_LENGTH_BYTES:
            raise ValueError("no length")
        return at + count, int.from_bytes(self._data[at : at + count])


def parse(pem: str) -> Usable:
    """Return the key of this PEM; raise Malformed if too long or wrong kind."""
    if len(pem) > LONGEST_PEM:
        raise Malformed(f"key: at most {LONGEST_PEM // 1024} KiB are allowed")
    if (found := _PEM.search(pem)) is None:
        raise Malformed(_NO_PEM)
    try:
        der = b64decode("".join(found[1].split()), validate=True)
        bits = _rsa_bits(der)
        if bits is not None and bits not in RSA_BITS:
            raise Malformed(_NOT_USABLE)
        key = load_der_private_key(
            der, password=None, unsafe_skip_rsa_key_validation=True
        )
    except (ValueError, TypeError, UnsupportedAlgorithm, InternalError):
        raise Malformed(_NO_PEM) from None
    if isinstance(key, rsa.RSAPrivateKey):
        _check_rsa(key)
        return key
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, CURVES):
        return key
    raise Malformed(_NOT_USABLE)


def _rsa_bits(der: bytes) -> int | None:
    """Return the length of the modulus, None if it is not an RSA key."""
    structure = _Der(der).enter(_SEQUENCE)
    structure.take(_INTEGER)  # the version
    if structure.tag() == _SEQUENCE:  # PKCS #8: what kind, and then the key itself
        if structure.enter(_SEQUENCE).take(_NAME) != _RSA:
            return None
        structure = structure.enter(_OCTETS).enter(_SEQUENCE)
        structure.take(_INTEGER)
    return structure.integer_bits() if structure.tag() == _INTEGER else None


def _check_rsa(key: rsa.RSAPrivateKey) -> None:
    """Raise Malformed unless the numbers fit, as Go checks when lnd starts."""
    numbers = key.private_numbers()
    p, q, d = numbers.p, numbers.q, numbers.d
    n, e = numbers.public_numbers.n, numbers.public_numbers.e
    fits = (
        1 < p < n
        and 1 < q < n
        and p * q == n
        and 1 < e <= LARGEST_EXPONENT
        and 0 < d < n
        and d * e % (p - 1) == 1
        and d * e % (q - 1) == 1
        and numbers.dmp1 == d % (p - 1)
        and numbers.dmq1 == d % (q - 1)
        and 0 < numbers.iqmp < p
        and numbers.iqmp * q % p == 1
    )
    if not fits:
        raise Malformed("key: not a valid RSA key (its numbers do not match)")
