# ruff: noqa: S311  made-up data, the same at every run
"""Every disguise that a seed or a macaroon has been seen in, and honest ciphertext."""

import base64
import bz2
import codecs
import contextlib
import gzip
import html
import json
import lzma
import quopri
import random
import time
import zlib
from collections.abc import Callable
from importlib import resources
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.ciphertext import seeds
from leyden.ciphertext.recognition import MACAROON_LIMIT, SEED_LIMIT, check_backup
from leyden.errors import Malformed

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


def fullwidth(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c != " " else c for c in text)


def base58(data: bytes) -> str:
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number, text = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        text = alphabet[digit] + text
    return text


def aezeed() -> bytes:
    """Pack the 24 words into the 33 bytes they stand for."""
    number = 0
    for word in WORDS:
        number = number << 11 | ENGLISH.index(word)
    return number.to_bytes(33)


ENGLISH = (
    resources.files("leyden.ciphertext")
    .joinpath("bip39_english.txt")
    .read_text("ascii")
    .split()
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
    "run together": "".join(WORDS),
    "run together, CamelCase": "".join(word.title() for word in WORDS),
    "abbreviated and run together": "".join(word[:4] for word in WORDS),
    "spaced out": " ".join(SEED.replace(" ", "")),
    "joined by NBSP": "\u00a0".join(WORDS),
    "joined by zero-width space": "\u200b".join(WORDS),
    "soft hyphens inside": SEED.replace("i", "i\u00ad"),
    "fullwidth": fullwidth(SEED),
    "with accents": SEED.replace("a", "á"),
    "underlined": "_".join(WORDS),
    "JSON with long names": json.dumps(
        {f"aa bb cc dd #{n}": word for n, word in enumerate(WORDS)}
    ),
    "JSON of base64 in short lines": json.dumps(
        {"note": "in case of fire!", "backup": wrapped(b64(SEED), 10)}
    ),
    "base58": base58(SEED.encode()),
    "base58 of a macaroon": base58(MACAROON),
    "base64, fullwidth": fullwidth(b64(SEED)),
    "base64 with invisible joints": "\u2060".join(b64(SEED)),
    "base64 between bytes": b64(b"\xff\xfe" + b64(SEED).encode() + b"\xff\x80"),
    "macaroon version 1 beside ciphertext": (
        f"{CIPHERTEXT} 0015location mint 0013identifier harbour light"
    ),
    "macaroon of another service between ciphertext": b64(
        random.Random(5).randbytes(41)
        + b"\x02\x01\x04loop"
        + MACAROON[6:]
        + random.Random(6).randbytes(41)
    ),
    "every other word a decoy": " zzz ".join(WORDS),
    "the same word": "abandon " * 11 + "about",
    "in a sentence": f"please keep this safe: {SEED} (do not lose it)",
    "JSON list": json.dumps(WORDS),
    "JSON object": json.dumps({f"w{n}": word for n, word in enumerate(WORDS)}),
    "JSON in JSON": json.dumps({"backup": json.dumps({"seed": SEED})}),
    "JSON escapes": json.dumps("".join(f"\\u{ord(c):04x}" for c in SEED)),
    "JSON name said twice": f'{{"seed": "{b64(SEED)}", "seed": "{CIPHERTEXT}"}}',
    "percent": "".join(f"%{ord(c):02x}" for c in SEED),
    "percent twice": quote(quote(SEED, safe=""), safe=""),
    "HTML entities": "".join(f"&#{ord(c)};" for c in SEED),
    "HTML names": html.escape(SEED).replace(" ", "&nbsp;"),
    "backslash x": "".join(f"\\x{ord(c):02x}" for c in SEED),
    "octal": "".join(f"\\{ord(c):03o}" for c in SEED),
    "quoted-printable": "".join(f"={ord(c):02X}" for c in SEED),
    "quoted-printable, wrapped": quopri.encodestring(SEED.encode()).decode(),
    "base64": b64(SEED),
    "base64 of words with commas": b64(",".join(WORDS)),
    "base64 without padding": b64(SEED + "!").rstrip("="),
    "base64 of twelve words": b64(TWELVE),
    "base64 twice": b64(b64(SEED)),
    "base64 ten times": SEED,  # replaced below
    "base64url": b64url(f"{SEED}???>>>".encode()),
    "base64, wrapped": wrapped(b64(SEED)),
    "base64, in short lines": wrapped(b64(SEED), 10),
    "base64, spaced": " ".join(b64(SEED)[at : at + 4] for at in range(0, 200, 4)),
    "base64, glued to a word": "seed" + "x" + b64(SEED),
    "base64, backwards": b64(SEED)[::-1],
    "base64 of UTF-16": b64(SEED.encode("utf-16-le")),
    "base64 of UTF-32": b64(SEED.encode("utf-32")),
    "base64 of base64 in UTF-16": b64(b64(SEED).encode("utf-16")),
    "hex": SEED.encode().hex(),
    "hex in capitals": SEED.encode().hex().upper(),
    "hex with 0x": "0x" + SEED.encode().hex(),
    "hex with colons": SEED.encode().hex(":"),
    "hex, each with 0x": ", ".join(f"0x{ord(c):02x}" for c in SEED),
    "hex of base64": b64(SEED).encode().hex(),
    "hex, backwards": SEED.encode().hex()[::-1],
    "base32": base64.b32encode(SEED.encode()).decode(),
    "base85": base64.b85encode(SEED.encode()).decode(),
    "ascii85": base64.a85encode(SEED.encode(), adobe=True).decode(),
    "decimal bytes": " ".join(str(ord(c)) for c in SEED),
    "a JSON buffer": json.dumps({"type": "Buffer", "data": list(SEED.encode())}),
    "bits": " ".join(f"{ord(c):08b}" for c in SEED),
    "zlib": b64(zlib.compress(SEED.encode())),
    "zlib with a spoiled end": b64(zlib.compress(SEED.encode())[:-4] + b"oops"),
    "zlib with its end cut off": b64(zlib.compress(SEED.encode())[:-9]),
    "zlib without a head": b64(zlib.compress(SEED.encode(), wbits=-15)),
    "gzip": b64(gzip.compress(SEED.encode())),
    "bzip2": b64(bz2.compress(SEED.encode())),
    "xz": b64(lzma.compress(SEED.encode())),
    "xz, with a small window": b64(lzma.compress(SEED.encode(), preset=4)),
    "zlib of hex of zlib": b64(
        zlib.compress(zlib.compress(SEED.encode()).hex().encode())
    ),
    "in a PEM of its own": (
        f"-----BEGIN SEED-----\n{wrapped(b64(SEED))}\n-----END SEED-----"
    ),
    "in PGP armor": (
        "-----BEGIN PGP MESSAGE-----\nVersion: 1\n\n"
        f"{wrapped(b64(SEED))}\n=AbCd\n-----END PGP MESSAGE-----"
    ),
    "as a token": f"{b64url(b'{}')}.{b64url(SEED.encode())}.{b64url(bytes(32))}",
    "beside ciphertext": f"{CIPHERTEXT} {b64(SEED)}",
    "beside ciphertext in JSON": json.dumps({"ct": CIPHERTEXT, "hint": SEED}),
    "after Salted__": b64(b"Salted__" + bytes(range(8)) + SEED.encode()),
    "between ciphertext": b64(
        random.Random(3).randbytes(64) + SEED.encode() + random.Random(4).randbytes(64)
    ),
    "words between bytes": b64(b"\xff\x00".join(word.encode() for word in WORDS)),
    "aezeed, hex": aezeed().hex(),
    "aezeed, base64": b64(aezeed()),
    "macaroon, hex": MACAROON.hex(),
    "macaroon, hex in capitals": MACAROON.hex().upper(),
    "macaroon, hex with colons": MACAROON.hex(":"),
    "macaroon, base64": b64(MACAROON),
    "macaroon, base64url": b64url(MACAROON),
    "macaroon, base64 of hex": b64(MACAROON.hex()),
    "macaroon, gzip": b64(gzip.compress(MACAROON)),
    "macaroon, cut off": MACAROON[:60].hex(),
    "macaroon, with a name": f"admin.macaroon={MACAROON.hex()}",
    "macaroon, glued to words": f"adminmacaroonis{b64(MACAROON)}",
    "macaroon, glued by one": f"a{b64(MACAROON)}",
    "macaroon, glued by two": f"ab{b64(MACAROON)}",
    "macaroon beside ciphertext": f"{CIPHERTEXT}\n{MACAROON.hex()}",
    "macaroon between ciphertext": b64(
        random.Random(5).randbytes(41) + MACAROON + random.Random(6).randbytes(41)
    ),
    "macaroon of another service": (b"\x02\x01\x04loop" + MACAROON[6:]).hex(),
    "macaroon without a place": b64(
        b"\x02\x02\x0dharbour light\x00\x00\x06\x20" + random.Random(7).randbytes(32)
    ),
    "macaroon version 1": b64(VERSION_1),
    "macaroon version 1, hex": VERSION_1.hex(),
    "macaroon in JSON": json.dumps(
        {"v": 2, "l": "lnd", "i64": b64url(bytes(20)), "s64": CIPHERTEXT}
    ),
    "macaroon in JSON of version 1": json.dumps(
        {"location": "", "identifier": "x", "signature": "ab" * 32, "caveats": []}
    ),
    "lndconnect": f"lndconnect://n.example:10009?cert=x&macaroon={b64url(MACAROON)}",
    "lndconnect beside ciphertext": f"LNDCONNECT://x {CIPHERTEXT}",
    "xprv": XPRV,
    "xprv beside ciphertext": f"{CIPHERTEXT}.{XPRV}",
    "xprv, glued": f"key{XPRV}{CIPHERTEXT}",
    "importable key beside ciphertext": f"{CIPHERTEXT} {WIF}",
    "PEM key": f"-----BEGIN EC PRIVATE KEY-----\n{CIPHERTEXT}\n-----END EC PRIVATE KEY",
    "PGP key": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{CIPHERTEXT}",
}
for _ in range(10):
    READABLE["base64 ten times"] = b64(READABLE["base64 ten times"])

PARAGRAPH = (
    "We the People of the United States, in Order to form a more perfect Union, "
    "establish Justice, insure domestic Tranquility, provide for the common defence, "
    "promote the general Welfare, and secure the Blessings of Liberty to ourselves"
)

NO_CIPHERTEXT = {
    "one letter": "x",
    "blanks": " " * 100,
    "a sentence": "The seed is in the drawer of the desk, below the letters. " * 3,
    "base64 of a sentence": b64("the seed is in the drawer of the desk " * 3),
    "words turned by 13": codecs.encode(SEED, "rot13"),
    "words turned by 13, in CamelCase": codecs.encode(
        "".join(word.title() for word in WORDS), "rot13"
    ),
    "words turned by 13, in base64": b64(codecs.encode(SEED, "rot13")),
    "words turned by 13, packed": b64(
        zlib.compress(codecs.encode(SEED, "rot13").encode())
    ),
    "words turned by 13, packed bare": b64(
        zlib.compress(codecs.encode(SEED, "rot13").encode(), wbits=-15)
    ),
    "words turned by 13, run together": codecs.encode("".join(WORDS[:9]), "rot13"),
    "a paragraph in base64, backwards": b64(PARAGRAPH)[::-1],
    "kanji in base64": b64("日本国民は正当に選挙された国会における代表者を通じて行動"),
    "Latin-1 of many letters": b64(
        "Sphinx of bläck quartz, judge MY VOW @ 0123456789!".encode("latin-1")
    ),
    "words backwards": SEED[::-1],
    "words backwards, in hex": SEED[::-1].encode().hex(),
    "words under one byte of XOR": bytes(ord(c) ^ 0xA5 for c in SEED).hex(),
    "words under one byte of XOR, base64": b64(bytes(ord(c) ^ 0xA5 for c in SEED)),
    "words with their nibbles swapped": b64(
        bytes(ord(c) >> 4 | ord(c) << 4 & 0xFF for c in SEED)
    ),
    "numbers of words": " ".join(str(n * 37 % 2048) for n in range(24)),
    "numbers of words, four digits": "".join(f"{n * 37 % 2048:04}" for n in range(24)),
    "zeros in hex": "00" * 200,
    "zeros in base64": b64(bytes(200)),
    "counting in base64": b64(bytes(range(16)) * 10),
    "a bomb": b64(zlib.compress(bytes(1_000_000))),
    "16 bytes of ciphertext": random.Random(8).randbytes(16).hex(),
    "31 bytes of ciphertext": random.Random(9).randbytes(31).hex(),
    "Japanese": "あいこくしん あいさつ あいだ あおぞら " * 6,
    "Japanese in base64": b64("あいこくしん あいさつ あいだ あおぞら " * 6),
    "Japanese in UTF-16": b64(("あいこくしん あいさつ あいだ " * 6).encode("utf-16")),
    "French in Latin-1": b64(("abaissé génie héros étoile ".encode("latin-1")) * 6),
    "a picture": b64(b"\x89PNG\r\n\x1a\n" + random.Random(10).randbytes(200)),
    "an archive": b64(b"PK\x03\x04" + random.Random(11).randbytes(200)),
    "xz that asks for much memory": b64(lzma.compress(SEED.encode(), preset=9)),
    "zstd": b64(b"\x28\xb5\x2f\xfd" + random.Random(12).randbytes(200)),
}


TOO_MUCH = (
    "seed: is encoded too many times; send the ciphertext as "
    "your program wrote it, encoded once"
)


def refusal(value: object, limit: int = MACAROON_LIMIT) -> str:
    with pytest.raises(Malformed) as caught:
        check_backup(value, kind="seed", limit=limit)
    return caught.value.message


@pytest.mark.parametrize("disguise", READABLE)
def test_a_secret_is_seen_through_its_disguise(disguise: str) -> None:
    assert "you sent it in plain text" in refusal(READABLE[disguise])


@pytest.mark.parametrize("kind", NO_CIPHERTEXT)
def test_what_is_no_ciphertext_is_refused(kind: str) -> None:
    assert refusal(NO_CIPHERTEXT[kind]).startswith("seed: must be encrypted, with")


@pytest.mark.parametrize(
    "text",
    [
        r"\ud800 %41 of what follows",
        r"\ud800 =41 of what follows",
        r'["\ud800 %41 of what follows"]',
        r"\ud83d\ude00 %41 of what follows",
    ],
)
def test_half_a_character_is_no_ciphertext(text: str) -> None:
    with pytest.raises(Malformed, match="must be encrypted, with"):
        check_backup(text, kind="seed", limit=SEED_LIMIT)


def test_what_would_take_too_much_looking_into_is_refused() -> None:
    many = [CIPHERTEXT, *(f"{n:032}" for n in range(420))]
    assert refusal(json.dumps(many)) == TOO_MUCH


def test_more_private_keys_than_there_is_room_for_are_not_looked_at() -> None:
    assert refusal("xprv" * 4_000) == TOO_MUCH
    assert "you sent it in plain text" in refusal(f"{'xprv' * 5}{XPRV}{'tprv' * 3}")


# 0.73 s of processor once, and 0.2 to 1 s for each of the others.
COSTLY = {
    "base85 in base85 in base85": base64.b85encode(
        base64.b85encode(base64.b85encode(random.Random(14).randbytes(8_300)))
    ).decode()[:MACAROON_LIMIT],
    "ascii85 in ascii85 in ascii85": base64.a85encode(
        base64.a85encode(base64.a85encode(random.Random(15).randbytes(8_300)))
    ).decode()[:MACAROON_LIMIT],
    "base85 packed": b64(
        zlib.compress(base64.b85encode(random.Random(16).randbytes(9_000)))
    )[:MACAROON_LIMIT],
    "beginnings of extended keys": "xprv" * (MACAROON_LIMIT // 4),
    "marks on one letter": "a" + "\u0316\u0300" * (MACAROON_LIMIT // 4 - 1),
    "one character that is eighteen": "\ufdfa" * (MACAROON_LIMIT // 3),
    "eleven words again and again": ("".join(ENGLISH[7:18]) + "qqq") * 200,
    "bombs": json.dumps([b64(zlib.compress(bytes(60_000 + n))) for n in range(120)]),
}
_HANGS_S = 20.0  # tenths of a second are usual


@pytest.mark.parametrize("kind", COSTLY)
def test_looking_into_it_does_not_hang(kind: str) -> None:
    value = COSTLY[kind][:MACAROON_LIMIT]
    value = value.encode()[:MACAROON_LIMIT].decode(errors="ignore")
    begun = time.thread_time()
    with contextlib.suppress(Malformed):
        check_backup(value, kind="macaroon", limit=MACAROON_LIMIT)
    assert time.thread_time() - begun < _HANGS_S


@given(
    st.lists(
        st.one_of(st.sampled_from(ENGLISH), st.text("abcdest", max_size=3)), max_size=40
    )
)
def test_words_run_together_are_found_where_they_are(parts: list[str]) -> None:
    letters = "".join(parts)
    assert seeds.in_text(letters) == (
        has_a_dozen(letters) and not same_word_again(letters)
    )


def has_a_dozen(letters: str) -> bool:
    """Look for words at every place, as plainly as can be."""
    words = {*ENGLISH, *(word[:4] for word in ENGLISH)}
    chains = [0] * (len(letters) + 1)
    for end in range(3, len(letters) + 1):
        for start in range(max(0, end - 8), end - 2):
            if letters[start:end] in words:
                chains[end] = max(chains[end], chains[start] + 1)
    return max(chains) >= 12


def same_word_again(letters: str) -> bool:
    beginnings = {word[:4] for word in ENGLISH if len(word) >= 4}
    fours = [letters[at : at + 4] for at in range(len(letters))]
    begun = [four for four in fours if four in beginnings]
    return len(begun) < 6 or len(set(begun)) == 1


@pytest.mark.parametrize("value", [None, True, 7, 1.5, [], ["x"], {"seed": "x"}, b"x"])
def test_a_backup_is_a_string(value: object) -> None:
    assert refusal(value) == "seed: must be a string"


def test_a_backup_has_a_size() -> None:
    assert refusal("") == f"seed: must have 1 to {MACAROON_LIMIT} bytes"
    exactly = random.Random(13).randbytes(SEED_LIMIT // 2).hex()
    check_backup(exactly, kind="seed", limit=SEED_LIMIT)
    assert refusal(exactly + "00", SEED_LIMIT) == "seed: must have 1 to 4096 bytes"
    assert refusal("é" * (SEED_LIMIT // 2 + 1), SEED_LIMIT).endswith("4096 bytes")


@pytest.mark.parametrize("value", ["\ud800", f"{CIPHERTEXT}\udfff", f"{CIPHERTEXT}\0"])
def test_a_backup_can_be_written_down(value: str) -> None:
    assert refusal(value).startswith("seed: must ")


@pytest.mark.parametrize("name", READABLE)
def test_a_refusal_does_not_repeat_what_was_sent(name: str) -> None:
    message = refusal(READABLE[name])
    for at in range(0, len(READABLE[name]) - 12, 12):
        assert READABLE[name][at : at + 12] not in message


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
SIZES = (32, 33, 40, 48, 64, 96, 128, 150, 200, 300, 800)


def refused(shape: Shape, many: int, seed: int) -> list[tuple[str, str]]:
    random_, found = random.Random(seed), []
    for _ in range(many):
        value = shape(random_, random_.choice(SIZES))
        try:
            check_backup(value, kind="seed", limit=SEED_LIMIT)
        except Malformed as refusal_:
            found.append((value, refusal_.message))
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_honest_ciphertext_is_taken(shape: str) -> None:
    assert refused(SHAPES[shape], 500, seed=2026) == []  # 5,500 in all


@pytest.mark.parametrize("shape", SHAPES)
def test_honest_ciphertext_is_taken_however_large(shape: str) -> None:
    """Plain, and as a string in JSON: the budget of work is far above both."""
    random_, most = random.Random(31), MACAROON_LIMIT
    for size in range(7_500, 12_500, 1_000):
        value = SHAPES[shape](random_, size)
        many_lines = value.count("\n") > 300  # each a layer of its own in JSON
        inside = value if many_lines else json.dumps({"backup": value})
        for written in (value, inside):
            if len(written) <= most:
                check_backup(written, kind="macaroon", limit=most)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("shape", SHAPES)
def test_honest_ciphertext_is_taken_however_often(shape: str) -> None:
    assert refused(SHAPES[shape], 18_500, seed=time.time_ns()) == []


@given(st.binary(min_size=0, max_size=200), st.sampled_from([b64, bytes.hex]))
def test_any_bytes_are_taken_or_refused(
    data: bytes, write: Callable[[bytes], str]
) -> None:
    try:
        check_backup(write(data), kind="macaroon", limit=MACAROON_LIMIT)
    except Malformed as said:
        assert said.message.startswith("macaroon: ")  # noqa: PT017


@given(st.text())
def test_any_text_is_taken_or_refused(text: str) -> None:
    try:
        check_backup(text, kind="macaroon", limit=MACAROON_LIMIT)
    except Malformed as said:
        assert said.message.startswith("macaroon: ")  # noqa: PT017


@given(
    st.lists(
        st.sampled_from(
            [b64, lambda d: d.hex().encode(), zlib.compress, gzip.compress]
        ),
        max_size=5,
    ),
    st.sampled_from([SEED.encode(), MACAROON, TWELVE.encode()]),
)
def test_no_stack_of_disguises_hides_a_secret(
    stack: list[Callable[[bytes], bytes | str]], secret: bytes
) -> None:
    for wrap in stack:
        written = wrap(secret)
        secret = written.encode() if isinstance(written, str) else written
    assert refusal(b64(secret)).startswith("seed: ")  # readable, or too much work


HARD_WORK = {
    "a bomb of words": b64(zlib.compress((SEED[::-1] + " ").encode() * 10_000)),
    "a bomb in a bomb": b64(zlib.compress(zlib.compress(bytes(10**8)))),
    "a bomb of xz": b64(lzma.compress(bytes(10**7))),
    "a bomb of bzip2": b64(bz2.compress(bytes(10**7))),
    "brackets": "[" * MACAROON_LIMIT,
    "many numbers": "[" + "1," * 8_000 + "1]",
    "one number": "[" + "1" * 16_000 + "]",
    "many strings": json.dumps([f"{n:016}" for n in range(800)]),
    "many blocks": " ".join(b64(bytes([n % 256]) * 12) for n in range(960)),
    "percent signs": "%25" * 5_000,
    "ampersands": "&amp;" * 3_000,
    "backslashes": "\\" * MACAROON_LIMIT,
    "hex of nothing": "0x" * 8_000,
    "the letter a": "a" * MACAROON_LIMIT,
    "beginnings of words": "aban" * 4_000,
    "base58": "z" * MACAROON_LIMIT,
    "colons": "ab:" * 5_000,
    "dashes": "-----BEGIN " * 1_400,
    "xprv": "xprv" * 4_000,
    "zero width": "\u200b" * 5_000,
    "combining": "a\u0301\u0323" * 3_000,
}


@pytest.mark.parametrize("work", HARD_WORK)
def test_hard_work_is_refused_and_does_not_hang(work: str) -> None:
    value = HARD_WORK[work][:MACAROON_LIMIT]
    before = time.process_time()
    refusal(value)
    assert time.process_time() - before < _HANGS_S
