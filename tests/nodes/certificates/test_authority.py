"""What nodes show and clients trust: curl, Python and Go are asked, not us."""

import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from leyden.errors import SetupError
from leyden.lnd.trust import trusting_chain, trusting_whenever
from leyden.nodes.certificates import previous_authorities, signing
from leyden.nodes.certificates.authority import (
    LEAF_LIFE,
    Authority,
    open_or_create,
    renew_intermediate,
)
from leyden.nodes.lnd.home import Tls
from tests.nodes.certificates import forged
from tests.programs import require

NAME = "harbour.nodes.test"
GO_CLIENT = """
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// As lncli does: credentials.NewClientTLSFromFile is a pool and AppendCertsFromPEM.
func main() {
	pem, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		panic("no certificates")
	}
	config := &tls.Config{RootCAs: pool, ServerName: os.Args[3]}
	conn, err := tls.Dial("tcp", os.Args[2], config)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	conn.Close()
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "authority"


@pytest.fixture
def authority(folder: Path) -> Authority:
    return open_or_create(folder, now=datetime.now(UTC))


@pytest.fixture
def tls(authority: Authority) -> Tls:
    return authority.issue(NAME, now=datetime.now(UTC))


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def serving(tls: Tls, folder: Path) -> Iterator[int]:
    """Serve a chain as lnd would."""
    path = folder / "served.pem"
    path.write_bytes(tls.chain_pem + tls.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    with HTTPServer(("127.0.0.1", 0), Hello) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def leaf_of(tls: Tls) -> x509.Certificate:
    return x509.load_pem_x509_certificate(tls.chain_pem)


def python_trusts(port: int, ca: Path, name: str = NAME) -> bool:
    context = ssl.create_default_context(cafile=str(ca))

    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        try:
            context.wrap_socket(plain, server_hostname=name).close()
        except ssl.SSLCertVerificationError:
            return False
        return True


def curl_trusts(port: int, ca: Path, name: str = NAME) -> bool:
    curl = require("curl")
    url = f"https://{name}:{port}/"
    done = subprocess.run(
        [curl, "-sS", "--resolve", f"{name}:{port}:127.0.0.1", "--cacert", ca, url],
        capture_output=True,
        check=False,
        timeout=20,
    )
    return done.stdout == b"hello"


@pytest.fixture(scope="session")
def go_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = require("go")
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(GO_CLIENT)
    env = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOWORK": "off"}
    made = folder / "client"
    subprocess.run(
        [go, "build", "-o", made, folder / "main.go"], check=True, env=env, timeout=110
    )
    return made


def test_what_a_client_is_given_is_what_curl_and_python_need(
    authority: Authority, tls: Tls, tmp_path: Path
) -> None:
    ca = tmp_path / "node.pem"
    ca.write_bytes(authority.trusted(tls.chain_pem))
    with serving(tls, tmp_path) as port:
        assert python_trusts(port, ca)
        assert curl_trusts(port, ca)
        assert not python_trusts(port, ca, "lighthouse.nodes.test")
        assert not curl_trusts(port, ca, "lighthouse.nodes.test")


@pytest.mark.real
def test_what_a_client_is_given_is_what_go_needs(
    authority: Authority, tls: Tls, tmp_path: Path, go_client: Path
) -> None:
    ca = tmp_path / "node.pem"
    ca.write_bytes(authority.trusted(tls.chain_pem))
    with serving(tls, tmp_path) as port:
        for name, code in ((NAME, 0), ("lighthouse.nodes.test", 1)):
            words: list[str | Path] = [go_client, ca, f"127.0.0.1:{port}", name]
            done = subprocess.run(words, check=False, timeout=20, capture_output=True)
            assert done.returncode == code, done.stdout


def test_the_root_alone_is_enough_for_all_nodes(
    authority: Authority, tls: Tls, tmp_path: Path
) -> None:
    ca = tmp_path / "root.pem"
    ca.write_bytes(authority.root_pem)
    with serving(tls, tmp_path) as port:
        assert python_trusts(port, ca)
        assert curl_trusts(port, ca)


def test_a_file_saved_once_outlives_renewals(
    authority: Authority, tls: Tls, folder: Path, tmp_path: Path
) -> None:
    ca = tmp_path / "node.pem"
    ca.write_bytes(authority.trusted(tls.chain_pem))
    renewed = renew_intermediate(folder, now=datetime.now(UTC))
    with serving(renewed.issue(NAME, now=datetime.now(UTC)), tmp_path) as port:
        assert python_trusts(port, ca)


def test_a_strangers_authority_is_not_trusted(tls: Tls, tmp_path: Path) -> None:
    stranger = open_or_create(tmp_path / "stranger", now=datetime.now(UTC))
    ca = tmp_path / "stranger.pem"
    ca.write_bytes(stranger.root_pem)
    with serving(tls, tmp_path) as port:
        assert not python_trusts(port, ca)


def test_only_the_nodes_own_name_is_in_its_certificate(tls: Tls) -> None:
    names = leaf_of(tls).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert list(names.value) == [x509.DNSName(NAME)]
    assert leaf_of(tls).subject.rfc4514_string() == f"CN={NAME}"


def test_a_node_cannot_vouch_for_others(tls: Tls) -> None:
    leaf, intermediate = x509.load_pem_x509_certificates(tls.chain_pem)
    rights = leaf.extensions.get_extension_for_class(x509.BasicConstraints)
    assert rights.critical
    assert not rights.value.ca
    above = intermediate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert above.value.path_length == 0


def test_a_chain_is_leaf_and_intermediate_for_about_a_year(
    authority: Authority, now: datetime
) -> None:
    chain = x509.load_pem_x509_certificates(authority.issue(NAME, now=now).chain_pem)
    assert len(chain) == 2
    chain[0].verify_directly_issued_by(chain[1])
    chain[1].verify_directly_issued_by(authority.root)
    assert chain[0].not_valid_after_utc == now + LEAF_LIFE
    assert chain[0].not_valid_before_utc == now - timedelta(hours=1)


def test_each_certificate_has_a_key_of_its_own(
    authority: Authority, now: datetime
) -> None:
    first, second = (authority.issue(NAME, now=now) for _ in range(2))
    assert first.key_pem != second.key_pem
    key = cast("ec.EllipticCurvePrivateKey", load_pem_private_key(first.key_pem, None))
    assert key.public_key() == leaf_of(first).public_key()


def test_a_long_name_is_whole_where_it_counts(authority: Authority) -> None:
    name = "a" * 60 + ".nodes.with-a-long-domain.test"
    leaf = leaf_of(authority.issue(name, now=datetime.now(UTC)))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert list(names.value) == [x509.DNSName(name)]


def test_nothing_is_signed_for_longer_than_its_signer_lives(
    authority: Authority,
) -> None:
    until = authority.intermediate.not_valid_after_utc
    late = authority.issue(NAME, now=until - timedelta(days=3))
    assert leaf_of(late).not_valid_after_utc == until


@pytest.mark.parametrize("issuer", forged.UNREADABLE)
def test_a_chain_that_cannot_be_read_is_nobodys(
    authority: Authority, folder: Path, now: datetime, issuer: bytes
) -> None:
    """An earlier version took them from owners: they stop nothing for the others."""
    chain = forged.by_nobody("harbour.nodes.test", now=now, issuer=issuer).chain_pem
    signing.create(folder / previous_authorities.NEXT, now)
    previous_authorities.complete(folder)
    for each in (authority, Authority(folder)):
        assert not each.issued(chain)
        assert not each.is_current(chain)
        assert each.trusted(chain) == chain
    shared = trusting_whenever(authority.anchors_pem.decode())
    with suppress(ssl.SSLError):  # which is of this node alone
        assert trusting_chain(shared, chain) is shared


def test_the_authority_is_made_once(authority: Authority, folder: Path) -> None:
    again = open_or_create(folder, now=datetime.now(UTC) + timedelta(days=1))
    assert again.root == authority.root
    assert again.intermediate == authority.intermediate


def test_keys_are_for_their_owner_alone(authority: Authority, folder: Path) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {"root.key": 0o600, "root.pem": 0o644, "intermediate.pem": 0o600}
    assert "PRIVATE" not in repr(authority)
    assert repr(authority.key) not in repr(authority)


def test_the_root_key_can_be_taken_offline(authority: Authority, folder: Path) -> None:
    content = (folder / "root.key").read_bytes()
    (folder / "root.key").unlink()
    assert open_or_create(folder, now=datetime.now(UTC)).root == authority.root
    with pytest.raises(SetupError, match="bring it back"):
        renew_intermediate(folder, now=datetime.now(UTC))
    (folder / "root.key").write_bytes(content)
    renewed = renew_intermediate(folder, now=datetime.now(UTC))
    assert renewed.root == authority.root
    assert renewed.intermediate != authority.intermediate


@pytest.mark.parametrize("file", ["root.key", "intermediate.pem"])
def test_a_key_with_a_password_is_said_and_left_alone(
    folder: Path, now: datetime, file: str
) -> None:
    open_or_create(folder, now=now)
    pem = (folder / file).read_bytes()
    locked = load_pem_private_key(pem, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"a lamp")
    )
    certificate, _, _ = pem.rpartition(b"-----BEGIN PRIVATE KEY-----")
    (folder / file).write_bytes(certificate + locked)
    with pytest.raises(SetupError, match=f"{file}.* has a password"):
        open_or_create(folder, now=now)
    if file == "root.key":
        with pytest.raises(SetupError, match=r"root\.key.* has a password"):
            renew_intermediate(folder, now=now)
    assert (folder / file).read_bytes() == certificate + locked


def test_a_half_made_authority_is_made_anew(folder: Path, now: datetime) -> None:
    made = open_or_create(folder, now=now)
    (folder / "intermediate.pem").unlink()
    (folder / "root.pem").unlink()  # killed with only the key written
    again = open_or_create(folder, now=now)
    assert again.root != made.root
    again.intermediate.verify_directly_issued_by(again.root)


def test_without_its_intermediate_it_keeps_the_root_that_clients_trust(
    folder: Path, now: datetime
) -> None:
    made = open_or_create(folder, now=now)
    (folder / "intermediate.pem").unlink()  # killed just before the last step, or lost
    again = open_or_create(folder, now=now)
    assert again.root == made.root
    assert again.intermediate != made.intermediate
    again.intermediate.verify_directly_issued_by(made.root)


def test_without_its_intermediate_and_root_key_it_is_said_and_left_alone(
    folder: Path, now: datetime
) -> None:
    made = open_or_create(folder, now=now)
    (folder / "intermediate.pem").unlink()
    (folder / "root.key").rename(folder.with_name("offline.key"))
    with pytest.raises(SetupError, match=r"needs root.key; bring it back"):
        open_or_create(folder, now=now)
    assert (folder / "root.pem").read_bytes() == made.root_pem
    (folder / "root.pem").write_text("not a certificate")
    with pytest.raises(SetupError, match="certificate authority"):
        open_or_create(folder, now=now)


@pytest.mark.parametrize("broken", ["root.pem", "intermediate.pem"])
def test_a_broken_authority_is_said_and_left_alone(
    folder: Path, now: datetime, broken: str
) -> None:
    open_or_create(folder, now=now)
    (folder / broken).write_text("not a certificate")
    with pytest.raises(SetupError, match="certificate authority"):
        open_or_create(folder, now=now)
    assert (folder / broken).read_text() == "not a certificate"


def test_an_intermediate_of_another_root_is_refused(
    folder: Path, tmp_path: Path, now: datetime
) -> None:
    open_or_create(folder, now=now)
    open_or_create(tmp_path / "other", now=now)
    shutil.copy(tmp_path / "other" / "intermediate.pem", folder / "intermediate.pem")
    with pytest.raises(SetupError, match="certificate authority"):
        open_or_create(folder, now=now)


def test_a_chain_that_was_handed_in_is_given_as_it_is(
    authority: Authority, tmp_path: Path, now: datetime
) -> None:
    other = open_or_create(tmp_path / "other", now=now)
    chain = other.issue(NAME, now=now).chain_pem
    assert authority.trusted(chain) == chain
