"""Backups are sealed as a standard says, bound to what they are, and opened by it."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

from leyden.client import jwe, vault
from leyden.client.vault import Backup
from leyden.errors import CannotOpen, Malformed, WrongPassword
from leyden.nodes.ciphertext.recognition import MACAROON_LIMIT, SEED_LIMIT, check_backup
from tests.programs import needs

NODE = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66N"
OTHER = "2d7e5f30-8b55-4d4a-8b1f-1d2a3c8e0f66N"
PASSWORD = "harbour light, 灯台"
WORDS = (
    "absent harbour walnut spider olive proud candy truly orbit fabric lemon fancy "
    "prize hover metal river canvas motion garden pepper stone violin zebra worry"
)
MACAROON = "0201036c6e6402030312000000" + "0620" + "00" * 32
# What jose 6.2.17 and CryptoJS 4.2.0 made of these, under these passwords.
VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())
SEED = Backup(node_id=NODE, kind="seed")
READ_ONLY = Backup(node_id=NODE, kind="macaroon", name="read only")

OPENED_BY_NODE = """
const crypto = require("node:crypto");
const [password, sealed] = process.argv.slice(1);
const parts = sealed.split(".");
const [, wrapped, iv, text, tag] = parts.map((each) => Buffer.from(each, "base64url"));
const header = JSON.parse(Buffer.from(parts[0], "base64url"));
const salt = Buffer.concat([
  Buffer.from(header.alg), Buffer.alloc(1), Buffer.from(header.p2s, "base64url"),
]);
const kek = crypto.pbkdf2Sync(password, salt, header.p2c, 32, "sha512");
const unwrap = crypto.createDecipheriv("id-aes256-wrap", kek, Buffer.alloc(8, 0xa6));
const key = Buffer.concat([unwrap.update(wrapped), unwrap.final()]);
const open = crypto.createDecipheriv("aes-256-gcm", key, iv);
open.setAuthTag(tag);
open.setAAD(Buffer.from(parts[0]));
process.stdout.write(Buffer.concat([open.update(text), open.final()]));
"""


def holding(backup: Backup, value: str) -> Backup:
    return Backup(
        node_id=backup.node_id, kind=backup.kind, name=backup.name, value=value
    )


def header_of(sealed: str) -> dict[str, Any]:
    shown = sealed.partition(".")[0]
    found: dict[str, Any] = json.loads(
        base64.urlsafe_b64decode(shown + "=" * (-len(shown) % 4))
    )
    return found


def with_header(sealed: str, **changes: Any) -> str:
    header = {**header_of(sealed), **changes}
    stored = {name: value for name, value in header.items() if value is not None}
    shown = base64.urlsafe_b64encode(json.dumps(stored).encode()).decode().rstrip("=")
    return ".".join((shown, *sealed.split(".")[1:]))


@pytest.fixture(scope="module")
def sealed() -> str:
    return vault.seal(SEED, WORDS, PASSWORD)


def test_what_is_sealed_is_what_is_opened(sealed: str) -> None:
    header = header_of(sealed)
    assert (header["alg"], header["enc"]) == ("PBES2-HS512+A256KW", "A256GCM")
    assert header["p2c"] >= 600_000
    assert header["leyden"] == {"node": NODE, "kind": "seed"}
    assert vault.open_(holding(SEED, sealed), PASSWORD) == WORDS
    again = vault.seal(SEED, WORDS, PASSWORD)
    assert header_of(again)["p2s"] != header["p2s"]


def test_the_platform_takes_it_for_ciphertext(sealed: str) -> None:
    check_backup(sealed, kind="seed", limit=SEED_LIMIT)
    macaroon = vault.seal(READ_ONLY, MACAROON, PASSWORD)
    check_backup(macaroon, kind="macaroon", limit=MACAROON_LIMIT)


@needs("node")
def test_another_program_opens_it(sealed: str) -> None:
    opened = subprocess.run(
        ["node", "-e", OPENED_BY_NODE, PASSWORD, sealed],
        capture_output=True,
        text=True,
        check=True,
    )
    assert opened.stdout == WORDS


def test_what_jose_sealed_is_opened() -> None:
    assert vault.open_(holding(SEED, VECTORS["jose"]), PASSWORD) == WORDS
    sealed = holding(READ_ONLY, VECTORS["jose_macaroon"])
    assert vault.open_(sealed, "a lamp in every window") == MACAROON


@pytest.mark.parametrize("which", ["cryptojs", "cryptojs_of_base64"])
def test_what_older_clients_sealed_is_opened(which: str) -> None:
    sealed = holding(SEED, VECTORS[which])
    assert vault.open_(sealed, PASSWORD) == WORDS
    with pytest.raises(WrongPassword):
        vault.open_(sealed, "another password")


@pytest.mark.parametrize("words", [["-pbkdf2"], ["-md", "sha256"], ["-md", "md5"]])
@needs("openssl")
def test_what_openssl_sealed_is_opened(words: list[str]) -> None:
    made = subprocess.run(
        [
            *["openssl", "enc", "-aes-256-cbc", "-salt", "-base64", "-pass"],
            "pass:lamp",
            *words,
        ],
        input=WORDS,
        capture_output=True,
        text=True,
        check=True,
    )
    assert vault.open_(holding(SEED, made.stdout), "lamp") == WORDS


def test_the_key_wrap_is_the_one_of_rfc_3394() -> None:
    """Section 4.6: 256 bits of key data under a key of 256 bits."""
    key = bytes.fromhex(
        "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"
    )
    data = bytes.fromhex(
        "00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F"
    )
    assert aes_key_wrap(key, data).hex().upper() == (
        "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326"
        "CBC7F0E71A99F43BFB988B9B7A02DD21"
    )


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (Backup(node_id=OTHER, kind="seed"), "another node"),
        (Backup(node_id=NODE, kind="macaroon"), "something else"),
        (Backup(node_id=NODE, kind="seed", name="x"), None),
    ],
)
def test_it_is_opened_as_what_it_is_alone(
    sealed: str, about: Backup, words: str | None
) -> None:
    if words is None:
        assert vault.open_(holding(about, sealed), PASSWORD) == WORDS
        return
    with pytest.raises(CannotOpen, match=words):
        vault.open_(holding(about, sealed), PASSWORD)


def test_one_macaroon_does_not_pass_for_another() -> None:
    sealed = vault.seal(READ_ONLY, MACAROON, PASSWORD)
    admin = Backup(node_id=NODE, kind="macaroon", name="admin", value=sealed)
    with pytest.raises(CannotOpen, match="another name"):
        vault.open_(admin, PASSWORD)


def test_a_header_that_was_changed_opens_nothing(sealed: str) -> None:
    moved = with_header(sealed, leyden={"node": OTHER, "kind": "seed"})
    with pytest.raises(CannotOpen, match="damaged"):
        vault.open_(Backup(node_id=OTHER, kind="seed", value=moved), PASSWORD)


@pytest.mark.parametrize(
    "changes",
    [
        {"alg": "PBES2-HS256+A128KW"},
        {"alg": "none"},
        {"alg": "dir"},
        {"enc": "A128CBC-HS256"},
        {"zip": "DEF"},
        {"crit": ["exp"]},
        {"p2c": 999},
        {"p2c": 10**9},
        {"p2c": True},
        {"p2c": "600000"},
        {"p2c": None},
        {"p2s": None},
        {"p2s": 7},
        {"p2s": "!!"},
        {"leyden": "seed"},
    ],
)
def test_other_forms_are_refused(sealed: str, changes: dict[str, Any]) -> None:
    with pytest.raises(CannotOpen) as refused:
        vault.open_(holding(SEED, with_header(sealed, **changes)), PASSWORD)
    assert not isinstance(refused.value, WrongPassword)


@pytest.mark.parametrize(
    "value", ["", ".", "....", "a.b.c.d.e", "e30....", "bnVsbA....", "{}", "☃"]
)
def test_what_is_no_backup_is_said_to_be_none(value: str) -> None:
    with pytest.raises(CannotOpen):
        vault.open_(holding(SEED, value), PASSWORD)


@pytest.mark.parametrize("part", range(1, 5))
def test_a_changed_byte_is_noticed(sealed: str, part: int) -> None:
    parts = sealed.split(".")
    letter = "A" if parts[part][3] != "A" else "B"
    parts[part] = parts[part][:3] + letter + parts[part][4:]
    with pytest.raises(CannotOpen):
        vault.open_(holding(SEED, ".".join(parts)), PASSWORD)
    parts.pop(part)
    with pytest.raises(CannotOpen):
        vault.open_(holding(SEED, ".".join(parts)), PASSWORD)


def test_a_wrong_password_is_told_from_damage(sealed: str) -> None:
    with pytest.raises(WrongPassword) as refused:
        vault.open_(holding(SEED, sealed), "harbour light")
    assert "harbour" not in str(refused.value)


def test_what_is_opened_has_to_be_what_it_should() -> None:
    nonsense = jwe.seal("a shopping list", PASSWORD, SEED.about)
    with pytest.raises(CannotOpen, match="it was opened, but"):
        vault.open_(holding(SEED, nonsense), PASSWORD)


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        WORDS.upper(),
        WORDS.replace(" ", ","),
        "\n".join(f"{at + 1}. {word}" for at, word in enumerate(WORDS.split())),
        base64.b64encode(WORDS.replace(" ", ",").encode()).decode(),
    ],
)
def test_seeds_are_read_however_they_are_written(text: str) -> None:
    assert vault.seed_words(text) == WORDS.split()


@pytest.mark.parametrize("text", ["", "absent harbour", WORDS + " more", "é " * 24])
def test_what_is_no_seed_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Malformed) as refused:
        vault.seed_words(text)
    assert "harbour" not in str(refused.value)


def test_all_that_a_password_opens_goes_under_the_new_one() -> None:
    old = holding(SEED, VECTORS["cryptojs"])
    foreign = holding(READ_ONLY, vault.seal(READ_ONLY, MACAROON, "lost long ago"))
    admin = Backup(node_id=NODE, kind="macaroon", name="admin")
    ours = holding(admin, vault.seal(admin, MACAROON, "the one before"))
    anew, left = vault.resealed(
        [old, foreign, ours], [PASSWORD, "the one before"], "the new one"
    )
    assert left == [foreign]
    seed, macaroon = anew
    assert (seed.name, seed.before) == (None, old.value)
    assert (macaroon.name, macaroon.before) == ("admin", ours.value)
    assert vault.open_(holding(SEED, seed.after), "the new one") == WORDS
    assert vault.open_(holding(admin, macaroon.after), "the new one") == MACAROON


def test_nothing_secret_is_in_a_repr(sealed: str) -> None:
    backup = holding(SEED, sealed)
    assert sealed not in repr(backup)
    anew, _ = vault.resealed([backup], [PASSWORD], "the new one")
    assert sealed not in repr(anew)


KEYS = (
    Path(__file__).parents[2]
    / "src"
    / "leyden"
    / "base"
    / "pages"
    / "static"
    / "wallet"
)
BY_THE_PAGE = """
const [keys, does, text, password, about] = process.argv.slice(1);
const jwe = await import(`${keys}/jwe.js`);
process.stdout.write(await jwe[does](text, password, JSON.parse(about)));
"""


def by_the_page(does: str, text: str) -> str:
    about = json.dumps(SEED.about)
    done = subprocess.run(
        [
            "node",
            "--input-type=module",
            "-e",
            BY_THE_PAGE,
            "--",
            KEYS.as_uri(),
            does,
            text,
            PASSWORD,
            about,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs("node")
def test_the_dashboards_pages_and_we_open_what_the_other_sealed(sealed: str) -> None:
    assert by_the_page("open", sealed) == WORDS
    theirs = by_the_page("seal", WORDS)
    assert vault.open_(holding(SEED, theirs), PASSWORD) == WORDS
