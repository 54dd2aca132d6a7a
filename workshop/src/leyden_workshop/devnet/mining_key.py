"""The key that all coins of a private chain are mined to.

The coins are worth nothing. The key is stored in a file readable by its
owner only all the same, because it controls all money on that chain.
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

from leyden.base.files import write_private
from leyden.errors import SetupError
from leyden.values import Struct
from leyden_workshop.devnet.addresses import witness_address

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_CHECKSIG = b"\xac"
_SIGHASH_ALL = b"\x01"


class MiningKey(Struct, frozen=True):
    """A secret key, with its script, address and signatures."""

    secret: ec.EllipticCurvePrivateKey

    @classmethod
    def load_or_create(cls, path: Path) -> Self:
        """Read the key from the file; create an owner-only file if missing."""
        try:
            number = int(path.read_text().strip(), 16)
            return cls(ec.derive_private_key(number, ec.SECP256K1()))
        except FileNotFoundError:
            pass
        except ValueError:
            raise SetupError(
                f"{path} has no key; restore the file, or the chain"
            ) from None
        secret = ec.generate_private_key(ec.SECP256K1())
        write_private(path, f"{secret.private_numbers().private_value:064x}\n")
        return cls(secret)

    @property
    def witness_script(self) -> bytes:
        """The witness script: a signature of this key is required."""
        point = self.secret.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
        )
        return bytes([len(point)]) + point + _CHECKSIG

    @property
    def witness_program(self) -> bytes:
        """The hash of the witness script.

        A script hash, not a key hash: a key hash needs RIPEMD-160, which some
        OpenSSL builds leave out.
        """
        return hashlib.sha256(self.witness_script).digest()

    @property
    def output_script(self) -> bytes:
        """The output script that pays to this key."""
        return b"\x00\x20" + self.witness_program

    def address(self, chain: str) -> str:
        """Return the address that pays to this key."""
        return witness_address(chain, self.witness_program)

    def sign(self, digest: bytes) -> bytes:
        """Sign a transaction's digest with low S, the only form nodes relay."""
        kind = ec.ECDSA(Prehashed(hashes.SHA256()))
        r, s = decode_dss_signature(self.secret.sign(digest, kind))
        return encode_dss_signature(r, min(s, _ORDER - s)) + _SIGHASH_ALL
