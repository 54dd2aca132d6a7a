"""Keys written by hand, as no library would make them."""

import base64


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def integer(number: int) -> bytes:
    return der(2, number.to_bytes(number.bit_length() // 8 + 1))


def pem(kind: str, content: bytes) -> str:
    text = base64.encodebytes(content).decode()
    return f"-----BEGIN {kind}-----\n{text}-----END {kind}-----\n"


def mersenne(first: int, second: int) -> str:
    """An RSA key of two Mersenne primes, which takes its time to be looked at."""
    return of_primes(2**first - 1, 2**second - 1)


def of_primes(p: int, q: int, *, e: int = 65537) -> str:
    """An RSA key of two numbers, whether they are primes or not."""
    d = pow(e, -1, (p - 1) * (q - 1))
    numbers = (0, p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    return pem("RSA PRIVATE KEY", der(0x30, b"".join(map(integer, numbers))))


def pkcs8(number: int) -> str:
    """The same in PKCS #8, of numbers that are no key at all."""
    inside = der(0x30, b"".join(map(integer, (0, *[number] * 8))))
    kind = der(0x30, der(6, bytes.fromhex("2a864886f70d010101")) + der(5, b""))
    return pem("PRIVATE KEY", der(0x30, integer(0) + kind + der(4, inside)))
