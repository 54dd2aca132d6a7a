"""The worst that a customer can send, and how much work the event loop has with it.

`./leyden test tests/nodes/api/nodes/test_worst_cases.py -s` prints the table.
"""

import base64
import json
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from leyden.nodes.ciphertext.recognition import MACAROON_LIMIT
from tests.base.api.conftest import Caller
from tests.conftest import NOW
from tests.der import mersenne, pem, pkcs8
from tests.loop_work import HEADLINE, Cost, cost
from tests.nodes.api.nodes.conftest import CIPHERTEXT, NEW_NODE, refusal, sha256_of
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.histories import replaced_often

BODY = 256 * 1024
_table: list[Cost] = []


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    print(f"\n{HEADLINE}", *_table, sep="\n")  # noqa: T201  with -s


@pytest.fixture(scope="session")
def long_chain() -> tuple[str, str]:
    """As many certificates as may be, with a key as long as may be, and their key."""
    key = rsa.generate_private_key(65537, 4096)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=9))
        .serial_number(7)
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName(f"host-{n}.example") for n in range(120)]
            ),
            critical=False,
        )
        .sign(key, SHA256())
        .public_bytes(Encoding.PEM)
        .decode()
    )
    stored_backups = key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    return made * 10, stored_backups.decode()


def filled(begin: bytes, part: bytes, end: bytes) -> bytes:
    """A body as large as may be, of one part again and again."""
    many = (BODY - len(begin) - len(end)) // len(part)
    return begin + part * many + end


JSON = {
    "integers": filled(b"[", b"1,", b"1]"),
    "fractions": filled(b"[", b".5,".replace(b".", b"0."), b"1]"),
    "empty objects": filled(b"[", b"{},", b"1]"),
    "objects": filled(b"[", b'{"a":0},', b"1]"),
    "many names": b"{%b}" % b",".join(b'"%x":0' % n for n in range(BODY // 11)),
    "one name again": filled(b"{", b'"a":0,', b'"a":0}'),
    "brackets": b"[" * BODY,
    "braces": filled(b"", b'{"a":', b"1"),
    "deep, with escapes": b'{"%b":' % (b"k" * 280) * 900 + b'"\\u0041"' + b"}" * 900,
    "as deep as can be": b'{"a":' * 985 + b'"\\u0041"' + b"}" * 985,
    "escapes": filled(b'["', b"\\u0041", b'"]'),
    "escaped strings": filled(b'["\\u0041"', b',"a"', b"]"),
    "a huge number": b"[" + b"9" * (BODY - 2) + b"]",
    "blank lines": b"\n" * (BODY - 1) + b"x",
    "no UTF-8 at the end": b" " * (BODY - 1) + b"\xff",
    "unknown settings": b'{"settings":{%b}}'
    % b",".join(b'"%x":0' % n for n in range(BODY // 11)),
    "an unknown name that looks like a place": b'{"%b":0}'
    % (b" - at `$.a" * (BODY // 10 - 2)),
}


@pytest.mark.parametrize("what", JSON)
async def test_json_is_read_beside_the_loop(
    alice: Caller, nodes: str, what: str
) -> None:
    body = JSON[what]
    assert len(body) <= BODY

    async def request() -> int:
        answer = await alice.call("POST", nodes, body)
        assert {"message", "code", "doc_url"} <= set(answer.json())
        return answer.status

    await holds(f"JSON: {what}", 400, request)


def settings(**changed: Any) -> dict[str, Any]:
    return {**NEW_NODE, "settings": {**NEW_NODE["settings"], **changed}}


MARKS = "a" + "\u0316\u0300" * 30_000
WIDE = [f"2001:db8:{n:x}:1234:5678:9abc:def0:{n:x}" for n in range(500)]
MAPPED = [f"::ffff:10.1.{n // 256}.{n % 256}/128" for n in range(500)]
CERTIFICATES = "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n" * 500

SETTINGS: dict[str, tuple[int, dict[str, Any]]] = {
    "an alias of marks": (400, settings(alias=MARKS)),
    "an alias of 200,000 letters": (400, settings(alias="a" * 200_000)),
    "500 addresses": (200, settings(whitelist=WIDE)),
    "500 mapped addresses": (200, settings(whitelist=MAPPED)),
    "40,000 addresses": (400, settings(whitelist=["::"] * 40_000)),
    "an entry of 200,000 characters": (400, settings(whitelist=[":" * 200_000])),
    "a webhook of 200,000 characters": (400, settings(webhook="https://" * 25_000)),
    "a webhook of labels": (400, settings(webhook="https://" + "a." * 500)),
    "500 certificates of a remote signer": (
        200,
        settings(remotesigningcert=CERTIFICATES),
    ),
    "a certificate that does not end": (
        400,
        settings(remotesigningcert="-----BEGIN CERTIFICATE-----" + "A" * 32_000),
    ),
    "a macaroon of a remote signer": (
        400,
        settings(remotesigningmacaroon="ab" * 100_000 + "x"),
    ),
    "a remote signer of labels": (400, settings(remotesigninghost="a." * 100_000)),
    "a name of 200,000 letters": (400, {**NEW_NODE, "name": "a" * 200_000}),
    "a version of 200,000 digits": (400, {**NEW_NODE, "version": "v" + "9" * 200_000}),
}


@pytest.mark.parametrize("what", SETTINGS)
async def test_settings_are_looked_at_in_no_time(
    alice: Caller, nodes: str, what: str
) -> None:
    status, body = SETTINGS[what]
    raw = json.dumps(body, ensure_ascii=False).encode()
    number = iter(range(10))

    async def request() -> int:
        named = raw.replace(b"harbour light", b"light %d" % next(number), 1)
        return (await alice.call("POST", nodes, named)).status

    await holds(f"settings: {what}", status, request)


# The longest there are to look through, each in its own way.
BACKUPS = {
    "backup: random base64": base64.b64encode(
        random.Random(1).randbytes(MACAROON_LIMIT // 4 * 3)  # noqa: S311
    ).decode(),
    "backup: hex of base64": base64.b64encode(
        random.Random(2).randbytes(MACAROON_LIMIT // 8 * 3)  # noqa: S311
    ).hex(),
    "backup: beginnings of extended keys": "xprv" * (MACAROON_LIMIT // 4),
    "backup: beginnings of keys": "-----BEGIN " * 1_400,
    "backup: the letter a": "a" * MACAROON_LIMIT,
    "backup: eleven words again and again": (
        "ability able about above absent absorb abstract absurd abuse access acid qq "
    )
    * 200,
    "backup: brackets": '{"a":' * 3_000,
    "backup: white space": "a " * (MACAROON_LIMIT // 2),
    "backup: heads of age": "age-encryption.org/v1\n-> " * 600,
}


@pytest.mark.parametrize("what", BACKUPS)
async def test_backup_is_checked_on_the_loop_in_no_time(
    alice: Caller, path: str, what: str
) -> None:
    value = BACKUPS[what].encode()[:MACAROON_LIMIT].decode(errors="ignore")
    number = iter(range(10))

    async def request() -> int:
        body = {"macaroon": value, "name": str(next(number))}
        status = (await alice.post(f"{path}/macaroon", body)).status
        return 400 if status == 200 else status  # either is as good here

    await holds(what, 400, request)


async def test_backups_are_checked_in_no_time_when_there_are_fifteen(
    alice: Caller, path: str
) -> None:
    body = {
        "macaroons": [
            {
                "macaroon": BACKUPS["backup: random base64"],
                "name": str(n),
                "replaces": sha256_of(CIPHERTEXT),
            }
            for n in range(15)
        ]
    }

    async def request() -> int:
        return (await alice.post(f"{path}/reseal", body)).status

    await holds("15 backups resealed", 409, request)


async def test_a_long_history_is_sent_in_turns(
    alice: Caller, path: str, fleet_harness: FleetHarness
) -> None:
    await replaced_often(fleet_harness, path.rpartition("/")[2])
    answer = await alice.get(f"{path}/replaced")
    assert len(answer.json()["replaced"]) == 600
    alice.drops_bodies = True

    async def request() -> int:
        return (await alice.get(f"{path}/replaced")).status

    await holds("600 replaced backups", 200, request)


KEYS = {
    "an RSA key of 8,676 bits": mersenne(4423, 4253),
    "an RSA key of 19,630 bits": mersenne(9941, 9689),
    "an RSA key of 8,676 bits in PKCS #8": pkcs8(2**8676 - 1),
    "an RSA key of 4,096 ones": pkcs8(2**4096 - 1),
    "a PEM of 200,000 letters": pem("PRIVATE KEY", bytes(150_000)),
    "beginnings of PEM": "-----BEGIN PRIVATE KEY-----" * 300,
}


@pytest.mark.parametrize("what", KEYS)
async def test_a_key_is_measured_before_it_is_read(
    alice: Caller, path: str, what: str, long_chain: tuple[str, str]
) -> None:
    chain = await ours(alice, path) or long_chain[0]

    async def request() -> int:
        body = {"certificate": chain, "key": KEYS[what]}
        answer = await alice.post(f"{path}/tls", body)
        assert refusal(answer)[1].startswith("key: ")
        return answer.status

    await holds(f"tls: {what}", 400, request)


CHAINS: dict[str, Callable[[str], str]] = {
    "ten certificates of 4,096 bits": lambda chain: chain,
    "a hundred certificates": lambda _: CERTIFICATES[:6_000],
    "beginnings of PEM": lambda _: "-----BEGIN CERTIFICATE-----\n" * 2_300,
    "65 KB of letters": lambda _: pem("CERTIFICATE", bytes(48_000)),
}


@pytest.mark.parametrize("what", CHAINS)
async def test_a_chain_is_looked_at_beside_the_loop(
    alice: Caller, path: str, what: str, long_chain: tuple[str, str]
) -> None:
    chain, key = long_chain
    body = {"certificate": CHAINS[what](chain), "key": key}

    async def request() -> int:
        answer = await alice.post(f"{path}/tls", body)
        assert refusal(answer)[1].startswith("certificate: ")
        return answer.status

    await holds(f"tls: {what}", 400, request)


HEADS: dict[str, tuple[int, str, dict[str, str]]] = {
    "an Idempotency-Key": (400, "", {"Idempotency-Key": "k" * 16_000}),
    "a key of 16,000 letters": (401, "", {"X-SERVICE-AUTH": "lk_" + "x" * 16_000}),
    "Accept of many kinds": (200, "", {"Accept": "a/b," * 4_000}),
    "a query of many names": (400, "?" + "&".join(f"{n:x}=" for n in range(1_700)), {}),
    "a query of percent signs": (400, "?a=" + "%41" * 2_700, {}),
    "a query of digits": (400, "?limit=" + "9" * 8_000, {}),
    "a cursor": (400, "?before=" + "A" * 8_000, {}),
}


@pytest.mark.parametrize("what", HEADS)
async def test_the_head_of_a_request_is_read_in_no_time(
    alice: Caller, what: str
) -> None:
    status, query, headers = HEADS[what]

    async def request() -> int:
        if "X-SERVICE-AUTH" in headers:
            stranger = Caller(alice.api, headers["X-SERVICE-AUTH"], "")
            return (await stranger.get("/flow/coupons")).status
        if "Idempotency-Key" in headers:
            body, path = b'{"code": "x"}', "/flow/redeem"
            return (await alice.call("POST", path, body, headers=headers)).status
        path = f"/organizations/{alice.organization_id}/nodes"
        if query.startswith(("?limit", "?before")):
            path = "/flow/ledger"
        return (await alice.call("GET", f"{path}{query}", headers=headers)).status

    await holds(what, status, request)


async def holds(what: str, status: int, request: Callable[[], Any]) -> Cost:
    found = await cost(what, request)
    _table.append(found)
    assert found.status == status
    assert found.is_short, f"{HEADLINE}\n{found}"
    return found


async def ours(alice: Caller, path: str) -> str:
    """A chain for the node's name; its key is somebody else's."""
    answer = (await alice.get(f"{path}/cert")).json()
    return base64.b64decode(answer["tls_cert"]).decode()
