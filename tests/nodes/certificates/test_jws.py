"""Signatures as others would check them."""

import base64
import hashlib
import hmac
import json

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from leyden.nodes.certificates import jws

URL = "https://authority.test/order"
# RFC 7515, A.3: a P-256 key as JSON.
D = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"
X = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
Y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


KEY = ec.derive_private_key(int.from_bytes(decoded(D), "big"), ec.SECP256R1())


def test_the_public_half_is_the_standards() -> None:
    assert jws.public(KEY) == {"kty": "EC", "crv": "P-256", "x": X, "y": Y}


def test_a_key_is_named_by_its_public_half_alone() -> None:
    canonical = f'{{"crv":"P-256","kty":"EC","x":"{X}","y":"{Y}"}}'
    digest = hashlib.sha256(canonical.encode()).digest()
    assert decoded(jws.thumbprint(KEY)) == digest


def test_what_is_signed_is_where_it_goes_and_what_it_says() -> None:
    body = json.loads(jws.signed(KEY, {"a": 1}, url=URL, nonce="n", account="acct"))
    assert json.loads(decoded(body["protected"])) == {
        "alg": "ES256",
        "nonce": "n",
        "url": URL,
        "kid": "acct",
    }
    assert json.loads(decoded(body["payload"])) == {"a": 1}
    signature = decoded(body["signature"])
    assert len(signature) == 64
    r, s = (int.from_bytes(part, "big") for part in (signature[:32], signature[32:]))
    KEY.public_key().verify(
        encode_dss_signature(r, s),
        f"{body['protected']}.{body['payload']}".encode(),
        ec.ECDSA(hashes.SHA256()),
    )


def test_a_question_has_an_empty_body_and_a_stranger_brings_his_key() -> None:
    body = json.loads(jws.signed(KEY, None, url=URL, nonce="n"))
    assert body["payload"] == ""
    protected = json.loads(decoded(body["protected"]))
    assert protected["jwk"] == jws.public(KEY)
    assert "kid" not in protected


def test_a_key_is_bound_to_an_account_by_a_secret_they_share() -> None:
    answer = jws.bound(KEY, url=URL, kid="harbour", secret="bGlnaHRob3VzZQ")
    assert isinstance(answer, dict)
    signed = f"{answer['protected']}.{answer['payload']}".encode()
    digest = hmac.digest(b"lighthouse", signed, "sha256")
    assert decoded(answer["signature"]) == digest
    assert json.loads(decoded(answer["payload"])) == jws.public(KEY)
