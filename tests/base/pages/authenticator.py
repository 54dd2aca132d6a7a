"""A device with passkeys, without a browser around it: makes and shows them."""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

_SEEN_AND_UNLOCKED = 0x05
_HAS_KEY = 0x40
_HAS_MORE = 0x80
_EC2, _ES256, _P256 = 2, -7, 1  # of COSE


@dataclass
class Authenticator:
    """One passkey, for one dashboard."""

    origin: str
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def make(self, challenge: str, *, more: bytes = b"") -> str:
        """Answer a page that asks for a new passkey; `more` are extensions."""
        public = self.key.public_key().public_numbers()
        cose = cbor2.dumps(
            {
                1: _EC2,
                3: _ES256,
                -1: _P256,
                -2: public.x.to_bytes(32),
                -3: public.y.to_bytes(32),
            }
        )
        stored = bytes(16) + len(self.id).to_bytes(2) + self.id + cose
        found = (
            self._authenticator_data(_SEEN_AND_UNLOCKED | _HAS_KEY, more=more)
            + stored
            + more
        )
        made = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": found})
        client = self._client("webauthn.create", challenge)
        return self._answer(clientDataJSON=client, attestationObject=made)

    def show(self, challenge: str, *, more: bytes = b"") -> str:
        """Answer a page that asks for a passkey; `more` are extensions."""
        found = self._authenticator_data(_SEEN_AND_UNLOCKED, more=more) + more
        client = self._client("webauthn.get", challenge)
        signed = found + hashlib.sha256(client).digest()
        signature = self.key.sign(signed, ec.ECDSA(SHA256()))
        return self._answer(
            clientDataJSON=client, authenticatorData=found, signature=signature
        )

    def _authenticator_data(self, flags: int, *, more: bytes) -> bytes:
        name = (urlsplit(self.origin).hostname or "").encode()
        flags |= _HAS_MORE * bool(more)
        return hashlib.sha256(name).digest() + bytes([flags]) + bytes(4)

    def _client(self, what: str, challenge: str) -> bytes:
        expected = {"type": what, "challenge": challenge, "origin": self.origin}
        return json.dumps(expected).encode()

    def _answer(self, **response: bytes) -> str:
        return json.dumps(
            {
                "id": _text(self.id),
                "rawId": _text(self.id),
                "type": "public-key",
                "response": {name: _text(each) for name, each in response.items()},
            }
        )


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
