"""Which roots may be trusted, and how one from another machine is proven."""

import http.server
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from leyden.customer.trust import fetching
from leyden.customer.trust.root import TrustedRoots, check_time, is_fingerprint, read
from leyden.customer.trusting import trust, untrust
from leyden.errors import LeydenError, SetupError
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.certificates.constraints import CertificateScope, scope
from leyden.nodes.certificates.keys import new_key

NOW = datetime.now(UTC)
OURS = scope(["nodes.example.com", "api.example.com", "127.0.0.1"])


def forged(*extensions: x509.ExtensionType, critical: bool = True) -> bytes:
    key = new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Leyden root")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW - timedelta(hours=1))
        .not_valid_after(NOW + timedelta(days=1))
    )
    for each in extensions:
        builder = builder.add_extension(each, critical=critical)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def test_a_root_of_ours_shows_its_names_and_its_fingerprint(tmp_path: Path) -> None:
    authority = open_or_create(tmp_path / "a", now=NOW, scope=OURS)
    root = read(authority.root_pem)
    assert (root.name, root.file_name) == (
        "Leyden nodes.example.com",
        "leyden-nodes.example.com",
    )
    assert root.scope == OURS
    assert root.fingerprint == authority.fingerprint
    check_time(root, NOW)
    for late in (root.until, root.since - timedelta(seconds=1)):
        with pytest.raises(SetupError, match="check this machine's clock"):
            check_time(root, late)


@pytest.mark.parametrize(
    "permitted",
    [
        CertificateScope(("com",), ("127.0.0.1",)),
        CertificateScope(("nodes.test", "dev")),
    ],
    ids=str,
)
def test_a_root_for_everybodys_names_is_refused(permitted: CertificateScope) -> None:
    with pytest.raises(SetupError, match="all names below"):
        read(forged(*permitted.extensions()))


USAGE = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
ANY = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE])
NAMES = OURS.extensions()[0]
HERE = x509.IPAddress(ip_network("127.0.0.1"))
ODD = x509.NameConstraints([x509.DNSName("../../etc/x"), HERE], None)


@pytest.mark.parametrize(
    "pem",
    [
        forged(USAGE),
        forged(NAMES),
        forged(NAMES, ANY),
        forged(NAMES, USAGE, critical=False),
        forged(ODD, USAGE),
    ],
    ids=["any name", "for mail too", "any use", "not critical", "no domain"],
)
def test_a_root_that_may_vouch_for_more_than_it_shows_is_refused(pem: bytes) -> None:
    with pytest.raises(SetupError, match="any name on the internet"):
        read(pem)


def test_anything_else_than_one_root_is_refused(tmp_path: Path) -> None:
    authority = open_or_create(tmp_path / "a", now=NOW, scope=OURS)
    chain = authority.issue("a.nodes.example.com", now=NOW).chain_pem
    for pem in (b"", b"no PEM", chain, authority.root_pem * 2):
        with pytest.raises(SetupError, match="not the root certificate"):
            read(pem)


def test_a_fingerprint_is_read_as_people_write_it(tmp_path: Path) -> None:
    root = read(open_or_create(tmp_path / "a", now=NOW, scope=OURS).root_pem)
    for text in (
        root.fingerprint,
        root.fingerprint.lower(),
        root.fingerprint.replace(":", ""),
        f" {root.fingerprint.replace(':', ' ')}\n",
    ):
        assert is_fingerprint(root, text)
    assert not is_fingerprint(root, "00" * 32)
    for text in ("", root.fingerprint[:-3], "zz" * 32):
        with pytest.raises(SetupError, match="64 characters"):
            is_fingerprint(root, text)


def test_what_was_trusted_is_remembered_one_of_a_name(tmp_path: Path) -> None:
    remembered = TrustedRoots(tmp_path)
    first, second = (
        read(open_or_create(tmp_path / name, now=NOW, scope=OURS).root_pem)
        for name in "ab"
    )
    assert remembered.keep(first) == remembered.keep(second)
    (tmp_path / "leyden/trusted/leyden-x.pem").write_text("not a root")
    assert remembered.all_() == [second]
    for _ in range(2):
        remembered.forget(second)
    assert remembered.all_() == []


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com",
        "http://192.0.2.1:8000",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com:8000",
    ],
)
def test_plain_http_beyond_this_machine_is_refused(url: str) -> None:
    with pytest.raises(SetupError, match=r"^--from: http to .* is not secure"):
        fetching.fetch(url)


@pytest.mark.parametrize(
    "url", ["ftp://a", "api.example.com", "https://", "https://a:b", "https://x@a"]
)
def test_what_is_no_url_of_a_platform_is_refused(url: str) -> None:
    with pytest.raises(SetupError, match=r"^--from: "):
        fetching.fetch(url)


class Platform(http.server.BaseHTTPRequestHandler):
    pem = b""

    def do_GET(self) -> None:
        found = self.path == fetching.PATH
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(self.pem if found else b"nothing here")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def platform(pem: bytes, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    handler = type("Handler", (Platform,), {"pem": pem})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            scheme = "http" if tls is None else "https"
            yield f"{scheme}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return open_or_create(tmp_path / "authority", now=NOW, scope=OURS)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have nothing on this machine touched: no browser, and a home of one's own."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "person"


def run_trust(*words: str, typed: str = "") -> tuple[int, str]:
    """Run `leyden trust` on no store at all; return its code and what it said."""
    done = CliRunner().invoke(
        trust, [*words, "--store", "browsers"], input=typed or None
    )
    said = str(done.exception) if isinstance(done.exception, LeydenError) else ""
    return done.exit_code, said + done.output


def test_a_root_from_elsewhere_comes_over_tls_that_proves_nothing(
    authority: Authority, person: Path, tmp_path: Path
) -> None:
    served = authority.issue("api.example.com", now=NOW, also=["127.0.0.1"])
    path = tmp_path / "served.pem"
    path.write_bytes(served.chain_pem + served.key_pem)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(path)
    with platform(authority.root_pem, tls) as url:
        code, said = run_trust("--from", url, "--fingerprint", authority.fingerprint)
    assert code == 0, said
    assert str(OURS) in said
    assert list(person.rglob("*.pem"))


def test_another_fingerprint_changes_nothing(
    authority: Authority, person: Path
) -> None:
    with platform(authority.root_pem) as url:
        code, said = run_trust("--from", url, "--fingerprint", "AB" * 32)
    assert code == 1
    assert "Nothing was changed" in said
    assert not list(person.rglob("*.pem"))


@pytest.mark.parametrize(
    ("typed", "is_stored"), [("y\n", True), ("n\n", False), ("", False)]
)
def test_without_a_fingerprint_somebody_is_asked(
    authority: Authority, person: Path, typed: str, *, is_stored: bool
) -> None:
    with platform(authority.root_pem) as url:
        code, said = run_trust("--from", url, typed=typed)
    assert authority.fingerprint in said
    assert "outside of this connection" in said
    assert (code == 0) is is_stored
    assert bool(list(person.rglob("*.pem"))) is is_stored


def test_a_file_that_was_copied_is_asked_for_too(
    authority: Authority, person: Path, tmp_path: Path
) -> None:
    file = str(tmp_path / "authority" / "root.pem")
    assert run_trust("--file", file)[0] == 1
    assert not list(person.rglob("*.pem"))
    assert run_trust("--file", file, "--fingerprint", authority.fingerprint)[0] == 0
    assert run_trust("--file", file, "--from", "https://a.example")[0] == 2


@pytest.mark.parametrize(
    ("platform", "does", "undoes"),
    [
        ("darwin", "security add-trusted-cert -r trustRoot", "security delete-certif"),
        ("win32", "certutil -user -addstore Root", "certutil -user -delstore Root"),
    ],
)
def test_elsewhere_than_on_linux_the_commands_are_printed_and_nothing_is_changed(
    authority: Authority,
    person: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    does: str,
    undoes: str,
) -> None:
    file = str(tmp_path / "authority" / "root.pem")
    monkeypatch.setattr(sys, "platform", platform)
    code, said = run_trust("--file", file, "--fingerprint", authority.fingerprint)
    assert (code, "Nothing was changed" in said) == (1, True)
    (stored,) = person.rglob("*.pem")
    assert does in said
    assert f'"{stored}"' in said
    assert undoes in said
    done = CliRunner().invoke(untrust, [])
    assert (done.exit_code, f"yourself:\n\n  {undoes}" in done.output) == (1, True)


def test_a_root_without_constraints_is_refused_whatever_its_fingerprint(
    person: Path, tmp_path: Path
) -> None:
    other = open_or_create(tmp_path / "other", now=NOW)
    with platform(other.root_pem) as url:
        code, said = run_trust("--from", url, "--fingerprint", other.fingerprint)
    assert code == 1
    assert "any name on the internet" in said
    assert not list(person.rglob("*.pem"))


def test_an_address_that_is_no_platform_is_said(person: Path) -> None:
    with platform(b"") as url:
        code, said = run_trust("--from", f"{url}", "--fingerprint", "AB" * 32)
        assert (code, "not the root certificate" in said) == (1, True)
    code, said = run_trust("--from", url)
    assert code == 1
    assert "does not respond" in said
    with platform(b"A" * 100_000) as url:
        assert "check that this is the URL of a platform" in run_trust("--from", url)[1]
    assert not list(person.rglob("*.pem"))
