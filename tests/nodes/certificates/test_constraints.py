"""Names that an authority may not vouch for: whoever verifies chains is asked, not us.

Each client trusts the root, and is shown what a thief of the intermediate's key, or of
the root's, would sign for a name of somebody else.
"""

import ipaddress
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from playwright.async_api import Error, async_playwright

from leyden.errors import SetupError
from leyden.nodes.certificates.authority import (
    Authority,
    open_or_create,
    renew_intermediate,
)
from leyden.nodes.certificates.constraints import (
    CertificateScope,
    check_covers,
    scope,
    scope_of,
)
from leyden.nodes.certificates.keys import new_key
from leyden.nodes.certificates.signing import (
    INTERMEDIATE_LIFE,
    ROOT_LIFE,
    seal_root_key,
)
from leyden.nodes.lnd.home import Tls
from tests.nodes.certificates import forged
from tests.nodes.certificates.test_authority import (  # noqa: F401  a fixture
    NAME,
    curl_trusts,
    go_client,
    python_trusts,
    serving,
)
from tests.programs import needs, require

OURS = scope(["nodes.test", "api.test", "127.0.0.1"])
NETWORK = ipaddress.ip_network("10.0.0.0/8")
HERE = x509.IPAddress(ipaddress.ip_network("127.0.0.1"))
EVIL = "bank.example"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "authority"


@pytest.fixture
def authority(folder: Path) -> Authority:
    return open_or_create(folder, now=datetime.now(UTC), scope=OURS)


def shown(authority: Authority, folder: Path, name: str) -> list[Tls]:
    return [forged.by_intermediate(authority, name), forged.by_root(folder, name)]


def stolen(authority: Authority, folder: Path) -> list[tuple[str, Tls]]:
    return [
        (name, tls)
        for name in (EVIL, "nodes.test.bank.example", "xnodes.test", "192.0.2.1")
        for tls in shown(authority, folder, name)
    ]


def agrees(*words: str | Path) -> bool:
    done = subprocess.run(words, check=False, timeout=20, capture_output=True)
    return done.returncode == 0


def test_root_and_intermediate_are_critically_constrained(authority: Authority) -> None:
    for each in (authority.root, authority.intermediate):
        assert scope_of(each) == OURS
        found = each.extensions.get_extension_for_class(x509.NameConstraints)
        assert found.critical
        (usage,) = each.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert usage == x509.oid.ExtendedKeyUsageOID.SERVER_AUTH
    assert authority.scope == OURS
    life = authority.root.not_valid_after_utc - authority.root.not_valid_before_utc
    assert ROOT_LIFE <= life < ROOT_LIFE * 1.01


def test_openssl_refuses_other_names(
    authority: Authority, folder: Path, tmp_path: Path
) -> None:
    openssl = require("openssl")
    path = tmp_path / "shown.pem"

    def verifies(tls: Tls) -> bool:
        path.write_bytes(tls.chain_pem)
        root = folder / "root.pem"
        words = (openssl, "verify", "-purpose", "sslserver", "-CAfile", root)
        return agrees(*words, "-untrusted", path, path)

    _expect(verifies, authority, folder)


def test_curl_and_python_refuse_other_names(
    authority: Authority, folder: Path, tmp_path: Path
) -> None:
    good = authority.issue(NAME, now=datetime.now(UTC))
    with serving(good, tmp_path) as port:
        assert python_trusts(port, folder / "root.pem")
        assert curl_trusts(port, folder / "root.pem")
    for tls in shown(authority, folder, EVIL):
        with serving(tls, tmp_path) as port:
            assert not python_trusts(port, folder / "root.pem", EVIL)
            assert not curl_trusts(port, folder / "root.pem", EVIL)


@pytest.mark.real
def test_go_refuses_other_names(
    authority: Authority,
    folder: Path,
    tmp_path: Path,
    go_client: Path,  # noqa: F811
) -> None:
    def connects(tls: Tls, name: str) -> bool:
        with serving(tls, tmp_path) as port:
            return agrees(go_client, folder / "root.pem", f"127.0.0.1:{port}", name)

    assert connects(authority.issue(NAME, now=datetime.now(UTC)), NAME)
    for name, tls in stolen(authority, folder):
        assert not connects(tls, name)


@pytest.mark.parametrize("library", [[], ["-p"], ["-p", "-p"]], ids=str)
def test_nss_refuses_other_names(
    authority: Authority, folder: Path, tmp_path: Path, library: list[str]
) -> None:
    require("vfychain")
    store = f"sql:{trusting(tmp_path / 'nss', folder / 'root.pem')}"

    def verifies(tls: Tls) -> bool:
        words: list[str | Path] = ["vfychain", *library, "-u", "1", "-d", store]
        end = b"-----END CERTIFICATE-----\n"
        for number, pem in enumerate(tls.chain_pem.split(end)[:-1]):
            path = tmp_path / f"{number}.pem"
            path.write_bytes(pem + end)
            words += ["-a", path]
        return agrees(*words)

    _expect(verifies, authority, folder)


@needs("chromium")
async def test_chromium_refuses_other_names(
    authority: Authority, folder: Path, tmp_path: Path
) -> None:
    home = tmp_path / "person"
    trusting(home / ".pki" / "nssdb", folder / "root.pem")
    cases = [(NAME, authority.issue(NAME, now=datetime.now(UTC)), "")]
    cases += [(EVIL, tls, "ERR_CERT_") for tls in (*shown(authority, folder, EVIL),)]
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            home / "profile",
            executable_path=require("chromium"),
            env={"HOME": str(home)},
            args=["--no-sandbox", "--host-resolver-rules=MAP * 127.0.0.1"],
        )
        try:
            for name, tls, refusal in cases:
                with serving(tls, tmp_path) as port:
                    said = ""
                    try:
                        await context.pages[0].goto(f"https://{name}:{port}/")
                    except Error as error:
                        said = error.message
                    assert refusal in said
                    assert bool(refusal) is bool(said), said
        finally:
            await context.close()


def trusting(database: Path, root: Path) -> Path:
    """Make a database of NSS that trusts this root."""
    require("certutil")
    database.mkdir(parents=True)
    for words in (
        ["-N", "--empty-password"],
        ["-A", "-t", "C,,", "-n", "leyden", "-i", str(root)],
    ):
        subprocess.run(["certutil", "-d", f"sql:{database}", *words], check=True)
    return database


def _expect(
    verifies: Callable[[Tls], bool], authority: Authority, folder: Path
) -> None:
    now = datetime.now(UTC)
    assert verifies(authority.issue(NAME, now=now))
    assert verifies(authority.issue("api.test", now=now, also=["127.0.0.1"]))
    assert verifies(forged.by_root(folder, NAME))  # refused for its name, below
    for name, tls in stolen(authority, folder):
        assert not verifies(tls), name


def test_without_an_address_of_ours_no_address_is_allowed(
    folder: Path, tmp_path: Path
) -> None:
    openssl = require("openssl")
    only = scope(["nodes.test"])
    authority = open_or_create(folder, now=datetime.now(UTC), scope=only)
    assert scope_of(authority.root) == only
    path = tmp_path / "shown.pem"
    for name in ("127.0.0.1", "2001:db8::1"):
        for tls in shown(authority, folder, name):
            path.write_bytes(tls.chain_pem)
            words = (openssl, "verify", "-CAfile", folder / "root.pem")
            assert not agrees(*words, "-untrusted", path, path)


def test_we_sign_no_name_that_clients_would_refuse(authority: Authority) -> None:
    now = datetime.now(UTC)
    for name, also in ((EVIL, ()), (NAME, ("10.0.0.1",))):
        with pytest.raises(SetupError, match=f"sign for {OURS} only"):
            authority.issue(name, now=now, also=also)


def test_names_outside_are_refused_with_the_rotation_that_it_takes() -> None:
    check_covers(None, ["anything.example"], setting="nodes_domain")
    check_covers(OURS, ["nodes.test", "a.NODES.test"], setting="nodes_domain")
    with pytest.raises(SetupError, match=r"^nodes_domain: .*leyden ca rotate"):
        check_covers(OURS, ["nodes.example"], setting="nodes_domain")


@pytest.mark.parametrize(
    ("critical", "permitted", "excluded"),
    [
        (False, [x509.DNSName("nodes.test"), HERE], None),
        (True, None, [x509.DNSName("bank.example")]),
        (True, [x509.DNSName("nodes.test")], None),  # every address is allowed
        (True, [x509.DNSName(""), HERE], None),
        (True, [x509.DNSName(".nodes.test"), HERE], None),
        (True, [x509.DNSName("nodes.test"), x509.RFC822Name("a.test"), HERE], None),
        (True, [HERE], None),  # every domain is allowed
        (True, [x509.DNSName("nodes.test"), x509.IPAddress(NETWORK)], None),
    ],
    ids=str,
)
def test_what_is_not_constrained_as_we_do_it_is_not_constrained(
    critical: bool,  # noqa: FBT001
    permitted: list[x509.GeneralName] | None,
    excluded: list[x509.GeneralName] | None,
    now: datetime,
) -> None:
    key = new_key()
    name = forged._name("somebody")
    root = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + ROOT_LIFE)
        .add_extension(x509.NameConstraints(permitted, excluded), critical=critical)
        .sign(key, hashes.SHA256())
    )
    assert scope_of(root) is None


def test_a_scope_is_of_names_and_single_addresses_each_once() -> None:
    made = scope(["Nodes.test", "localhost", "::1", "localhost", "127.0.0.1"])
    assert made == CertificateScope(("nodes.test", "localhost"), ("::1", "127.0.0.1"))
    assert made.covers("127.0.0.1")
    assert not made.covers("127.0.0.2")
    assert str(made) == "nodes.test, localhost, ::1, 127.0.0.1"


def test_a_sealed_root_key_renews_the_intermediate_and_nothing_else_can(
    folder: Path, now: datetime
) -> None:
    def turned(data: bytes) -> bytes:
        return data[::-1]

    authority = open_or_create(folder, now=now, scope=OURS, seal=turned)
    assert not (folder / "root.key").exists()
    assert b"PRIVATE" not in (folder / "root.key.sealed").read_bytes()
    with pytest.raises(SetupError, match="bring it back"):
        renew_intermediate(folder, now=now)
    renewed = renew_intermediate(folder, now=now, unseal=turned)
    assert renewed.root == authority.root
    assert renewed.intermediate != authority.intermediate
    assert renewed.scope == OURS
    life = renewed.intermediate.not_valid_after_utc - now
    assert life == INTERMEDIATE_LIFE


def test_a_lost_intermediate_is_made_anew_with_the_sealed_root_key(
    folder: Path, now: datetime
) -> None:
    def turned(data: bytes) -> bytes:
        return data[::-1]

    authority = open_or_create(folder, now=now, scope=OURS, seal=turned, unseal=turned)
    other = folder.with_name("other")
    open_or_create(other, now=now, seal=turned)
    (folder / "intermediate.pem").unlink()
    content = (folder / "root.key.sealed").read_bytes()
    shutil.copy(other / "root.key.sealed", folder)
    with pytest.raises(SetupError, match=r"does not belong to root.pem"):
        open_or_create(folder, now=now, seal=turned, unseal=turned)
    assert not (folder / "intermediate.pem").exists()
    (folder / "root.key.sealed").write_bytes(content)
    # A changed setting does not change what an existing root may vouch for.
    wider = scope([*OURS.domains, "more.test"])
    again = open_or_create(folder, now=now, scope=wider, seal=turned, unseal=turned)
    assert again.root == authority.root
    assert again.scope == OURS


def test_a_root_key_that_lies_open_is_sealed(folder: Path, now: datetime) -> None:
    open_or_create(folder, now=now)
    pem = (folder / "root.key").read_bytes()
    for _ in range(2):
        seal_root_key(folder, lambda data: data[::-1])
    assert not (folder / "root.key").exists()
    assert (folder / "root.key.sealed").read_bytes() == pem[::-1]
