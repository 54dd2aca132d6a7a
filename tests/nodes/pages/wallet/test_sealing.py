"""What is sealed in the browser opens elsewhere, and the other way round."""

import base64
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from leyden.client import vault
from leyden.nodes.ciphertext.recognition import MACAROON_LIMIT, SEED_LIMIT, check_backup
from leyden.values import replace
from tests.nodes.pages.wallet import sealing
from tests.nodes.pages.wallet.conftest import Modular
from tests.programs import needs

pytestmark = pytest.mark.asyncio(loop_scope="session")

NODE = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66N"
PASSWORD = "harbour light, 灯台"
WORDS = (
    "absent harbour walnut spider olive proud candy truly orbit fabric lemon fancy "
    "prize hover metal river canvas motion garden pepper stone violin zebra worry"
)
SEED = WORDS.split()
MACAROON = bytes((2, 1, 3)) + b"lnd" + bytes((2, 3, 3, 18, 0, 0, 0, 6, 32)) + bytes(32)
ABOUT_SEED = {"node": NODE, "kind": "seed"}
# What jose 6.2.17 and CryptoJS 4.2.0 made of the seed above, under the password above.
VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())
MD5 = [
    (b"", "d41d8cd98f00b204e9800998ecf8427e"),
    (b"abc", "900150983cd24fb0d6963f7d28e17f72"),
    (b"message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    (b"a" * 55, hashlib.md5(b"a" * 55).hexdigest()),  # noqa: S324
    (b"a" * 56, hashlib.md5(b"a" * 56).hexdigest()),  # noqa: S324
    (b"a" * 64, hashlib.md5(b"a" * 64).hexdigest()),  # noqa: S324
    (bytes(range(256)) * 5, hashlib.md5(bytes(range(256)) * 5).hexdigest()),  # noqa: S324
]


def backup(value: str, kind: str = "seed", name: str = "") -> dict[str, str]:
    return {"kind": kind, "name": name, "value": value}


async def test_a_seed_sealed_here_opens_in_python_and_is_let_in(js: Modular) -> None:
    sealed = await js.call("vault", "seal", NODE, backup(""), SEED, PASSWORD)
    header = sealing.header_of(sealed)
    assert (header["alg"], header["enc"]) == (sealing.ALG, "A256GCM")
    assert header["p2c"] >= 600_000
    assert header["leyden"] == ABOUT_SEED
    assert sealing.open_jwe(sealed, PASSWORD) == WORDS
    check_backup(sealed, kind="seed", limit=SEED_LIMIT)
    again = await js.call("vault", "seal", NODE, backup(""), SEED, PASSWORD)
    assert sealing.header_of(again)["p2s"] != header["p2s"]


async def test_a_seed_sealed_in_python_opens_here(js: Modular) -> None:
    sealed = sealing.seal_jwe(WORDS, PASSWORD, ABOUT_SEED)
    assert await js.call("vault", "open", NODE, backup(sealed), PASSWORD) == SEED


@pytest.mark.parametrize("program", VECTORS)
async def test_what_other_libraries_sealed_opens_here(
    js: Modular, program: str
) -> None:
    sealed = VECTORS[program]
    assert await js.call("vault", "open", NODE, backup(sealed), PASSWORD) == SEED


async def test_a_macaroon_goes_there_and_back(js: Modular) -> None:
    stored = backup("", "macaroon", "read only")
    sealed = await js.call("vault", "seal", NODE, stored, MACAROON.hex(), PASSWORD)
    check_backup(sealed, kind="macaroon", limit=MACAROON_LIMIT)
    assert sealing.header_of(sealed)["leyden"]["name"] == "read only"
    assert sealing.open_jwe(sealed, PASSWORD) == MACAROON.hex()
    opened = await js.call("vault", "open", NODE, {**stored, "value": sealed}, PASSWORD)
    assert opened == MACAROON.hex()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (",".join(SEED), "seed"),
        (base64.b64encode(",".join(SEED).encode()).decode(), "seed"),
        (MACAROON.hex(), "macaroon"),
        (base64.b64encode(MACAROON).decode(), "macaroon"),
    ],
    ids=["words", "base64 of words", "hex", "base64"],
)
async def test_old_backups_of_cryptojs_open(js: Modular, text: str, kind: str) -> None:
    sealed = sealing.seal_cryptojs(text, PASSWORD)
    assert sealed.startswith("U2FsdGVkX1")
    opened = await js.call("vault", "open", NODE, backup(sealed, kind), PASSWORD)
    assert opened == (SEED if kind == "seed" else MACAROON.hex())
    wrong = await js.call("vault", "open", NODE, backup(sealed, kind), "another one")
    says = "Wrong password for this backup."
    assert wrong == {"trouble": "password", "says": says}


@needs("openssl")
@pytest.mark.parametrize("options", [["-pbkdf2"], ["-md", "md5"], []])
async def test_what_openssl_sealed_opens(js: Modular, options: list[str]) -> None:
    command = ("openssl", "enc", "-aes-256-cbc", "-salt", "-base64", "-A")
    sealed = subprocess.run(
        [*command, "-pass", f"pass:{PASSWORD}", *options],
        input=WORDS.encode(),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert await js.call("vault", "open", NODE, backup(sealed), PASSWORD) == SEED


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({**ABOUT_SEED, "node": NODE.replace("1c", "2c")}, "another node"),
        ({**ABOUT_SEED, "kind": "macaroon"}, "something else"),
        ({**ABOUT_SEED, "name": "admin"}, "another name"),
        ({**ABOUT_SEED, "node": 7}, "another node"),
    ],
)
async def test_a_backup_of_something_else_is_refused(
    js: Modular, about: Any, says: str
) -> None:
    sealed = sealing.seal_jwe(WORDS, PASSWORD, about)
    refused = await js.call("vault", "open", NODE, backup(sealed), PASSWORD)
    assert refused["trouble"] == "another"
    assert says in refused["says"]


async def test_one_that_does_not_say_what_it_is_opens(js: Modular) -> None:
    sealed = sealing.seal_jwe(WORDS, PASSWORD)
    assert await js.call("vault", "open", NODE, backup(sealed), PASSWORD) == SEED


async def test_a_wrong_password_is_told_from_damage(js: Modular) -> None:
    sealed = sealing.seal_jwe(WORDS, PASSWORD, ABOUT_SEED)
    wrong = await js.call("vault", "open", NODE, backup(sealed), PASSWORD + " ")
    assert wrong["trouble"] == "password"
    shown, *rest = sealed.split(".")
    for damaged in (
        sealed[:-8],
        sealed[:-2] + ("AA" if sealed[-2:] != "AA" else "BB"),
        ".".join([shown, *rest[:3]]),
        ".".join(["!!!", *rest]),
        "",
        "harbour light",
    ):
        refused = await js.call("vault", "open", NODE, backup(damaged), PASSWORD)
        assert refused["trouble"] == "form", damaged


async def test_the_header_is_as_safe_as_the_rest(js: Modular) -> None:
    sealed = sealing.seal_jwe(WORDS, PASSWORD, {**ABOUT_SEED, "node": "else"})
    header = {**sealing.header_of(sealed), "leyden": ABOUT_SEED}
    _, *rest = sealed.split(".")
    shown = sealing.encoded(str(header).replace("'", '"').encode())
    forged = ".".join([shown, *rest])
    refused = await js.call("vault", "open", NODE, backup(forged), PASSWORD)
    assert refused["trouble"] == "form"


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "PBES2-HS256+A128KW"},
        {"enc": "A128GCM"},
        {"zip": "DEF"},
        {"crit": ["b64"]},
        {"p2c": 2_000_000_000},
        {"p2c": 1},
        {"p2c": "600000"},
    ],
    ids=str,
)
async def test_a_header_that_asks_for_anything_else_is_refused(
    js: Modular, header: dict[str, Any]
) -> None:
    good = sealing.seal_jwe(WORDS, PASSWORD, p2c=1_000)
    _, *rest = good.split(".")
    text = repr({**sealing.header_of(good), **header}).replace("'", '"')
    request = ".".join([sealing.encoded(text.encode()), *rest])
    refused = await js.call("vault", "open", NODE, backup(request), PASSWORD)
    assert refused["trouble"] == "form"


async def test_resealing_takes_what_opens_and_leaves_the_rest(js: Modular) -> None:
    seed = sealing.seal_cryptojs(WORDS, PASSWORD)
    about = {"node": NODE, "kind": "macaroon", "name": "admin"}
    admin = sealing.seal_jwe(MACAROON.hex(), PASSWORD, about)
    foreign = sealing.seal_jwe(MACAROON.hex(), "Bob's own", {**about, "name": "bob"})
    backups = [
        backup(seed),
        backup(admin, "macaroon", "admin"),
        backup(foreign, "macaroon", "bob"),
    ]
    found = await js.call("vault", "reseal", NODE, backups, PASSWORD, "low tide")
    anew = {(each["kind"], each["name"]): each for each in found["anew"]}
    assert set(anew) == {("seed", ""), ("macaroon", "admin")}
    assert [each["name"] for each in found["left"]] == ["bob"]
    for each, old in ((anew["seed", ""], seed), (anew["macaroon", "admin"], admin)):
        assert each["replaces"] == hashlib.sha256(old.encode()).hexdigest()
        opened = sealing.open_jwe(each["value"], "low tide")
        assert opened in {WORDS, MACAROON.hex()}


@pytest.mark.parametrize(("raw", "digest"), MD5, ids=lambda each: str(len(each)))
async def test_md5(js: Modular, raw: bytes, digest: str) -> None:
    found = await js.run(
        """async (modules, hex) => {
            const { fromHex, toHex } = await modules("bytes");
            return toHex((await modules("md5")).md5(fromHex(hex)));
        }""",
        raw.hex(),
    )
    assert found == digest


async def test_the_command_line_and_the_browser_open_each_others_backups(
    js: Modular,
) -> None:
    for kind, name, secret in (
        ("seed", "", WORDS),
        ("macaroon", "a b", MACAROON.hex()),
    ):
        ours = vault.Backup(node_id=NODE, kind=kind, name=name)
        typed = vault.seal(ours, secret, PASSWORD)
        opened = await js.call(
            "vault", "open", NODE, backup(typed, kind, name), PASSWORD
        )
        assert opened == (SEED if kind == "seed" else secret)
        clicked = await js.call(
            "vault", "seal", NODE, backup("", kind, name), opened, PASSWORD
        )
        assert vault.open_(replace(ours, value=clicked), PASSWORD) == secret
        assert (
            sealing.header_of(typed)["leyden"] == (sealing.header_of(clicked)["leyden"])
        )
