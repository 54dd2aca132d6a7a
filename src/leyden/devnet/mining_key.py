"""The key that all coins of a private chain are mined to.

Its coins are worth nothing; it lies in a file of its owner's all the same, because it
is the money of everybody on that chain.
"""

import hashlib
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    Prehashed,
    decode_dss_signature,
    encode_dss_signature,
)

from leyden.devnet.addresses import witness_address
from leyden.errors import SetupError
from leyden.files import write_private
from leyden.values import Struct

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_CHECKSIG = b"\xac"
_SIGHASH_ALL = b"\x01"


class MiningKey(Struct, frozen=True):
    """One secret, its script, its address, its signatures."""

    secret: ec.EllipticCurvePrivateKey

    @classmethod
    def kept_in(cls, path: Path) -> Self:
        """Read the key of this file; make one, for its owner alone, if it lacks."""
        try:
            number = int(path.read_text().strip(), 16)
            return cls(ec.derive_private_key(number, ec.SECP256K1()))
        except FileNotFoundError:
            pass
        except ValueError:
            raise SetupError(f"{path} holds no key; restore it, or the chain") from None
        secret = ec.generate_private_key(ec.SECP256K1())
        write_private(path, f"{secret.private_numbers().private_value:064x}\n")
        return cls(secret)

    @property
    def witness_script(self) -> bytes:
        """The condition its coins are under: this key has signed."""
        point = self.secret.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
        )
        return bytes([len(point)]) + point + _CHECKSIG

    @property
    def program(self) -> bytes:
        """The hash of that condition.

        A script hash rather than a key hash: the latter needs RIPEMD-160, which some
        OpenSSLs leave out.
        """
        return hashlib.sha256(self.witness_script).digest()

    @property
    def output_script(self) -> bytes:
        """What an output says that pays to this key."""
        return b"\x00\x20" + self.program

    def address(self, chain: str) -> str:
        """Give the address that pays to this key."""
        return witness_address(chain, self.program)

    def sign(self, digest: bytes) -> bytes:
        """Sign a transaction's digest, in the only form that nodes relay: low S."""
        kind = ec.ECDSA(Prehashed(hashes.SHA256()))
        r, s = decode_dss_signature(self.secret.sign(digest, kind))
        return encode_dss_signature(r, min(s, _ORDER - s)) + _SIGHASH_ALL
