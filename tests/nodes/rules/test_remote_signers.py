"""Where a node's keys may live, as its owner writes it."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import Malformed
from leyden.nodes.rules.remote_signers import (
    certificate_pem,
    check_host,
    macaroon_bytes,
)

BODY = base64.b64encode(b"\x30\x82" + bytes(range(100))).decode()
PEM = f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----\n"
KEY = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("given_", "dialled"),
    [
        ("signer.example.org", "signer.example.org:10009"),
        ("signer.example.org:443", "signer.example.org:443"),
        ("Signer-2", "Signer-2:10009"),
        ("198.51.100.7", "198.51.100.7:10009"),
        ("198.51.100.7:0443", "198.51.100.7:443"),
        ("2001:DB8::1", "[2001:db8::1]:10009"),
        ("[2001:db8::1]", "[2001:db8::1]:10009"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
    ],
)
def test_a_host_gets_the_usual_port(given_: str, dialled: str) -> None:
    assert check_host(given_, field="host") == dialled


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":10009",
        "signer.example.org:",
        "signer.example.org:0",
        "signer.example.org:65536",
        "signer.example.org:9" + "9" * 5_000,
        "signer.example.org:\uff11",
        "signer example",
        "signer_example",
        "-signer",
        "signer..org",
        ".signer",
        "signer\nrestcors=*",
        "signer.example.org\n",
        "https://signer.example.org",
        "unix:///run/signer",
        "dns:///signer",
        "passthrough:signer",
        "user@signer",
        "signer/path",
        "2130706433",
        "127.1",
        "0177.0.0.1",
        "①②⑦.⓪.⓪.①",
        "fe80::1%eth0",
        "[fe80::1%eth0]:1",
        "[::1",
        "[::1]x",
        "[signer]:1",
        "a" * 64,
        ".".join(["a" * 60] * 5),
    ],
)
def test_what_grpc_would_take_for_something_else_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="host: must be an IP address or host name"):
        check_host(text, field="host")


def test_a_macaroon_comes_in_hex_or_base64() -> None:
    raw = b"\x02\x01\x03lnd" + bytes(range(60))
    for text in (
        raw.hex(),
        raw.hex().upper(),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
    ):
        assert macaroon_bytes(text, field="macaroon") == raw


@pytest.mark.parametrize(
    "text", ["", "not one", "a\n", "A", "ab" * 5_000, "é", "=" * 8]
)
def test_what_is_no_macaroon_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="macaroon: must be a macaroon, in hex or base"):
        macaroon_bytes(text, field="macaroon")


def test_a_certificate_comes_as_pem_or_as_base64_of_it() -> None:
    assert certificate_pem(PEM, field="cert") == PEM.encode()
    assert certificate_pem(f"\r\n{PEM * 2}\n\n", field="cert").count(b"BEGIN") == 2
    wrapped = base64.b64encode(PEM.encode()).decode()
    assert certificate_pem(wrapped, field="cert") == PEM.encode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "certificate",
        KEY,
        PEM + KEY,
        PEM + "and more",
        PEM.replace(BODY, ""),
        PEM.replace(BODY, "AAAA"),
        PEM.replace(BODY, "!!!!"),
        PEM.replace("END", "end"),
        PEM * 400,
        "-----BEGIN CERTIFICATE-----" + " " * 32_000,
        "é" + PEM,
    ],
)
def test_what_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="cert: must be a PEM certificate"):
        certificate_pem(text, field="cert")


@given(st.text())
def test_any_text_is_taken_or_refused(text: str) -> None:
    for check in (check_host, macaroon_bytes, certificate_pem):
        with contextlib.suppress(Malformed):
            assert check(text, field="it")
