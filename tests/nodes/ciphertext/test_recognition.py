# ruff: noqa: S311  made-up data, the same at every run
"""What clients that forgot to encrypt send, and what encryption programs write."""

import base64
import json
import random
from collections.abc import Callable
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import Malformed
from leyden.nodes.ciphertext.recognition import MACAROON_LIMIT, SEED_LIMIT, check_backup

# An aezeed of lnd's own test vectors, with the empty passphrase.
WORDS = [
    "ability",
    "liquid",
    "travel",
    "stem",
    "barely",
    "drastic",
    "pact",
    "cupboard",
    "apple",
    "thrive",
    "morning",
    "oak",
    "feature",
    "tissue",
    "couch",
    "old",
    "math",
    "inform",
    "success",
    "suggest",
    "drink",
    "motion",
    "know",
    "royal",
]
SEED = " ".join(WORDS)
TWELVE = " ".join(WORDS[:12])


def pack(*fields: bytes) -> bytes:
    return b"".join(fields)


MACAROON = pack(
    b"\x02\x01\x03lnd\x02\x2f\x03\x0a\x10",
    bytes(range(40, 56)),
    b"\x12\x01\x30\x1a\x16\x0a\x07address\x12\x04read\x12\x05write",
    b"\x00\x00\x06\x20",
    bytes(range(200, 232)),
)
VERSION_1 = b"0015location mint\n0013identifier harbour light\n002fsignature " + bytes(
    32
)
XPRV = (
    "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5"
    "kejMRNNU3TGtRBeJgk33yuGBxrMPHi"
)
WIF = "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ"
CIPHERTEXT = base64.b64encode(random.Random(21).randbytes(160)).decode()


def b64(data: bytes | str) -> str:
    raw = data.encode() if isinstance(data, str) else data
    return base64.b64encode(raw).decode()


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def wrapped(text: str, width: int = 64) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def aezeed() -> bytes:
    """Pack the 24 words into the 33 bytes they stand for."""
    number = 0
    for word in WORDS:
        number = number << 11 | ENGLISH.index(word)
    return number.to_bytes(33)


ENGLISH = (
    resources.files("leyden.nodes.ciphertext")
    .joinpath("bip39_english.txt")
    .read_text("ascii")
    .split()
)

PARAGRAPH = (
    "We the People of the United States, in Order to form a more perfect Union, "
    "establish Justice, insure domestic Tranquility, provide for the common defence, "
    "promote the general Welfare, and secure the Blessings of Liberty to ourselves"
)
READABLE = {
    "words": SEED,
    "twelve words": TWELVE,
    "in capitals": SEED.upper(),
    "as a title": SEED.title(),
    "with commas": ",".join(WORDS),
    "one on each line": "\r\n".join(WORDS),
    "numbered": " ".join(f"{n}. {word}" for n, word in enumerate(WORDS, 1)),
    "abbreviated": " ".join(word[:4] for word in WORDS),
    "in CamelCase": "".join(word.title() for word in WORDS),
    "the same word": "abandon " * 11 + "about",
    "in a sentence": f"please keep this safe: {SEED} (do not lose it)",
    "JSON list": json.dumps(WORDS),
    "JSON object": json.dumps({f"w{n}": word for n, word in enumerate(WORDS)}),
    "base64": b64(SEED),
    "base64 of words with commas": b64(",".join(WORDS)),
    "base64 without padding": b64(SEED + "!").rstrip("="),
    "base64url": b64url(f"{SEED}???>>>".encode()),
    "base64, wrapped": wrapped(b64(SEED)),
    "base64, in short lines": wrapped(b64(SEED), 10),
    "base64 twice": b64(b64(SEED)),
    "hex": SEED.encode().hex(),
    "hex in capitals": SEED.encode().hex().upper(),
    "hex with 0x": "0x" + SEED.encode().hex(),
    "hex, wrapped": wrapped(SEED.encode().hex()),
    "hex of base64": b64(SEED).encode().hex(),
    "base64 of hex": b64(SEED.encode().hex()),
    "beside ciphertext in JSON": json.dumps({"ct": CIPHERTEXT, "hint": SEED}),
    "after Salted__": b64(b"Salted__" + bytes(range(8)) + SEED.encode() + b"!" * 3),
    "macaroon, hex": MACAROON.hex(),
    "macaroon, hex in capitals": MACAROON.hex().upper(),
    "macaroon, base64": b64(MACAROON),
    "macaroon, base64url": b64url(MACAROON),
    "macaroon, base64, wrapped": wrapped(b64(MACAROON)),
    "macaroon, base64 of hex": b64(MACAROON.hex()),
    "macaroon, hex of base64": b64(MACAROON).encode().hex(),
    "macaroon, with a name": f"admin.macaroon={MACAROON.hex()}",
    "macaroon beside ciphertext": f"{CIPHERTEXT}\n{MACAROON.hex()}",
    "macaroon of another service": (b"\x02\x01\x04loop" + MACAROON[6:]).hex(),
    "macaroon version 1": b64(VERSION_1),
    "macaroon version 1, hex": VERSION_1.hex(),
    "lndconnect": f"lndconnect://n.example:10009?cert=x&macaroon={b64url(MACAROON)}",
    "xprv": XPRV,
    "xprv beside ciphertext": f"{CIPHERTEXT}.{XPRV}",
    "PEM key": f"-----BEGIN EC PRIVATE KEY-----\n{CIPHERTEXT}\n-----END EC PRIVATE KEY",
    "PGP key": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{CIPHERTEXT}",
}

NO_CIPHERTEXT = {
    "one letter": "x",
    "blanks": " " * 100,
    "a sentence": "The seed is in the drawer of the desk, below the letters. " * 3,
    "base64 of a sentence": b64("the seed is in the drawer of the desk " * 3),
    "words run together": "".join(WORDS),
    "words run together in capitals": "".join(WORDS).upper(),
    "Japanese": "あいこくしん あいさつ あいだ あおぞら " * 6,
    "Japanese in base64": b64("あいこくしん あいさつ あいだ あおぞら " * 6),
    "base64 of UTF-16": b64(SEED.encode("utf-16-le")),
    "French in Latin-1": b64(("abaissé génie héros étoile ".encode("latin-1")) * 6),
    "numbers of words": " ".join(str(n * 37 % 2048) for n in range(24)),
    "numbers of words, four digits": "".join(f"{n * 37 % 2048:04}" for n in range(24)),
    "zeros in hex": "00" * 200,
    "zeros in base64": b64(bytes(200)),
    "aezeed, hex": aezeed().hex(),
    "aezeed, base64": b64(aezeed()),
    "entropy": random.Random(8).randbytes(16).hex(),
    "private key": random.Random(8).randbytes(32).hex(),
    "47 bytes of ciphertext": random.Random(9).randbytes(47).hex(),
    "importable key": WIF,
    "JSON around ciphertext": json.dumps({"backup": CIPHERTEXT}),
    "JSON that is an envelope of words": json.dumps(
        {"ct": b64("the seed is in the drawer"), "iv": "00" * 16, "s": "00" * 8}
    ),
    "macaroon in JSON": json.dumps(
        {"v": 2, "l": "lnd", "i64": b64url(bytes(20)), "s64": CIPHERTEXT}
    ),
    "base64 three times": b64(b64(b64(random.Random(10).randbytes(200)))),
    "words in PGP armor": (
        "-----BEGIN PGP MESSAGE-----\nVersion: 1\n\n"
        f"{wrapped(b64(PARAGRAPH))}\n=AbCd\n-----END PGP MESSAGE-----"
    ),
    "literal data in PGP armor": (
        "-----BEGIN PGP MESSAGE-----\n\n"
        f"{wrapped(b64(bytes([0xCB, 60]) + random.Random(3).randbytes(60)))}\n"
        "-----END PGP MESSAGE-----"
    ),
    "words in age's armor": (
        f"-----BEGIN AGE ENCRYPTED FILE-----\n{wrapped(b64(PARAGRAPH))}\n"
        "-----END AGE ENCRYPTED FILE-----"
    ),
    "the head of an age file": "age-encryption.org/v1\n-> scrypt x 18\ny\n--- z\n",
    "a signed token": f"{b64url(b'{}')}.{b64url(bytes(40))}.{b64url(bytes(32))}",
    "five parts of a token": ".".join(
        map(b64url, (b'{"alg":"x"}', *(random.Random(4).randbytes(40),) * 4))
    ),
}


def refusal(value: object, limit: int = MACAROON_LIMIT) -> str:
    with pytest.raises(Malformed) as caught:
        check_backup(value, kind="seed", limit=limit)
    return caught.value.message


@pytest.mark.parametrize("name", READABLE)
def test_backup_is_refused_as_plain_text_when_a_secret_is_readable(name: str) -> None:
    assert "you sent it in plain text" in refusal(READABLE[name])


@pytest.mark.parametrize("name", NO_CIPHERTEXT)
def test_backup_is_refused_when_it_is_no_ciphertext(name: str) -> None:
    assert refusal(NO_CIPHERTEXT[name]).startswith("seed: must be encrypted: send JWE")


@pytest.mark.parametrize("name", READABLE)
def test_refusal_repeats_nothing_of_the_backup(name: str) -> None:
    message = refusal(READABLE[name])
    for at in range(0, len(READABLE[name]) - 12, 12):
        assert READABLE[name][at : at + 12] not in message


@pytest.mark.parametrize("value", [None, True, 7, 1.5, [], ["x"], {"seed": "x"}, b"x"])
def test_backup_is_refused_when_it_is_no_string(value: object) -> None:
    assert refusal(value) == "seed: must be a string"


def test_backup_is_refused_when_too_large() -> None:
    assert refusal("") == f"seed: must have 1 to {MACAROON_LIMIT} bytes"
    exactly = random.Random(13).randbytes(SEED_LIMIT // 2).hex()
    check_backup(exactly, kind="seed", limit=SEED_LIMIT)
    assert refusal(exactly + "00", SEED_LIMIT) == "seed: must have 1 to 4096 bytes"
    assert refusal("é" * (SEED_LIMIT // 2 + 1), SEED_LIMIT).endswith("4096 bytes")


@pytest.mark.parametrize("value", ["\ud800", f"{CIPHERTEXT}\udfff", f"{CIPHERTEXT}\0"])
def test_backup_is_refused_when_it_cannot_be_stored(value: str) -> None:
    assert refusal(value).startswith("seed: must ")


# Honest ciphertext, in the shapes that programs write it in.


def age(random_: random.Random, size: int) -> bytes:
    def part(length: int) -> str:
        return b64(random_.randbytes(length)).rstrip("=")

    head = (
        f"age-encryption.org/v1\n-> scrypt {part(16)} 18\n{part(32)}\n--- {part(32)}\n"
    )
    return head.encode() + random_.randbytes(16 + size + 16)


def openpgp(random_: random.Random, size: int) -> str:
    packets = pack(
        b"\x8c\x0d\x04\x09\x03\x0a",
        random_.randbytes(8),
        b"\xff\xd2",
        bytes([min(size, 150) + 40, 1]),
        random_.randbytes(size + 39),
    )
    return (
        "-----BEGIN PGP MESSAGE-----\nVersion: GnuPG v2\n\n"
        f"{wrapped(b64(packets))}\n={b64(random_.randbytes(3))}\n"
        "-----END PGP MESSAGE-----\n"
    )


def jwe(random_: random.Random, size: int) -> str:
    head = {
        "alg": "PBES2-HS512+A256KW",
        "enc": "A256GCM",
        "p2c": 600_000,
        "p2s": b64url(random_.randbytes(16)),
    }
    parts = [json.dumps(head).encode(), *map(random_.randbytes, (40, 12, size, 16))]
    return ".".join(map(b64url, parts))


def salted(random_: random.Random, size: int) -> str:
    blocks = size // 16 + 1
    return b64(b"Salted__" + random_.randbytes(8 + 16 * blocks))


def crypto_js(random_: random.Random, size: int) -> str:
    return json.dumps(
        {
            "ct": b64(random_.randbytes(16 * (size // 16 + 1))),
            "iv": random_.randbytes(16).hex(),
            "s": random_.randbytes(8).hex(),
        }
    )


def sjcl(random_: random.Random, size: int) -> str:
    return json.dumps(
        {
            "iv": b64(random_.randbytes(16)),
            "v": 1,
            "iter": 10_000,
            "ks": 256,
            "ts": 128,
            "mode": "ccm",
            "adata": "",
            "cipher": "aes",
            "salt": b64(random_.randbytes(8)),
            "ct": b64(random_.randbytes(size + 16)),
        }
    )


Shape = Callable[[random.Random, int], str]
SHAPES: dict[str, Shape] = {
    "raw base64": lambda r, size: b64(r.randbytes(size)),
    "raw base64url": lambda r, size: b64url(r.randbytes(size)),
    "raw hex": lambda r, size: r.randbytes(size).hex(),
    "OpenSSL": salted,
    "wrapped base64": lambda r, size: wrapped(
        b64(r.randbytes(size)), r.randint(20, 76)
    ),
    "age, binary": lambda r, size: b64(age(r, size)),
    "age, armored": lambda r, size: (
        "-----BEGIN AGE ENCRYPTED FILE-----\n"
        f"{wrapped(b64(age(r, size)))}\n-----END AGE ENCRYPTED FILE-----\n"
    ),
    "OpenPGP": openpgp,
    "JWE": jwe,
    "CryptoJS": crypto_js,
    "SJCL": sjcl,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [48, 64, 96, 150, 300, 1_200])
def test_ciphertext_is_accepted(shape: str, size: int) -> None:
    random_ = random.Random(2026 + size)
    for _ in range(50):
        check_backup(SHAPES[shape](random_, size), kind="seed", limit=SEED_LIMIT)


@pytest.mark.parametrize("shape", SHAPES)
def test_ciphertext_is_accepted_when_as_large_as_allowed(shape: str) -> None:
    random_ = random.Random(31)
    value = SHAPES[shape](random_, 7_500)
    assert 10_000 <= len(value) <= MACAROON_LIMIT
    check_backup(value, kind="macaroon", limit=MACAROON_LIMIT)


@pytest.mark.parametrize("size", [1, 12, 24, 48])
def test_envelope_is_accepted_however_short_its_secret(size: int) -> None:
    random_ = random.Random(7)
    for shape in ("OpenSSL", "age, armored", "OpenPGP", "JWE", "CryptoJS", "SJCL"):
        for _ in range(50):
            check_backup(SHAPES[shape](random_, size + 16), kind="seed", limit=4096)


@given(st.binary(min_size=0, max_size=200), st.sampled_from([b64, bytes.hex]))
def test_any_bytes_are_accepted_or_refused(
    data: bytes, write: Callable[[bytes], str]
) -> None:
    accepted_or_refused(write(data))


@given(st.text())
def test_any_text_is_accepted_or_refused(text: str) -> None:
    accepted_or_refused(text)


def accepted_or_refused(value: str) -> None:
    try:
        check_backup(value, kind="macaroon", limit=MACAROON_LIMIT)
    except Malformed as said:
        assert said.message.startswith("macaroon: ")  # noqa: PT017


@given(
    st.lists(st.sampled_from([b64, lambda d: d.hex()]), max_size=2),
    st.sampled_from([SEED.encode(), MACAROON, TWELVE.encode()]),
)
def test_secret_is_refused_when_encoded_at_most_twice(
    encodings: list[Callable[[bytes], str]], secret: bytes
) -> None:
    for encode in encodings:
        secret = encode(secret).encode()
    assert refusal(secret.decode("latin-1")).startswith("seed: must")


@pytest.mark.parametrize(
    "value",
    ["[" * MACAROON_LIMIT, '{"a":' * 3_000, '{"a":' + "1" * 16_000 + "}"],
)
def test_backup_is_refused_when_its_json_is_no_json(value: str) -> None:
    assert refusal(value).startswith("seed: must be encrypted")
