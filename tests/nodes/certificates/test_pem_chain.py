from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from leyden.errors import Malformed
from leyden.nodes.certificates.authority import LEAF_LIFE, Authority, open_or_create
from leyden.nodes.certificates.pem_chain import parse
from leyden.nodes.certificates.pem_key import parse as parse_key
from leyden.nodes.lnd.home import Tls
from tests.der import mersenne, of_primes, pem, pkcs8
from tests.nodes.certificates import forged

NAME = "harbour.nodes.test"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return open_or_create(tmp_path / "authority", now=NOW)


@pytest.fixture
def tls(authority: Authority) -> Tls:
    return authority.issue(NAME, now=NOW)


def accepted(chain: bytes, key: bytes, *, name: str = NAME, now: datetime = NOW) -> Tls:
    return parse(chain.decode(), key.decode(), name=name, now=now)


def test_a_chain_and_its_key_are_taken_as_they_are(tls: Tls) -> None:
    assert accepted(tls.chain_pem, tls.key_pem) == tls


def test_words_around_the_certificates_are_left_out(tls: Tls) -> None:
    assert accepted(b"Bag Attributes\n" + tls.chain_pem, tls.key_pem) == tls


def test_a_wildcard_covers_one_label(authority: Authority) -> None:
    wild = authority.issue("*.nodes.test", now=NOW)
    assert accepted(wild.chain_pem, wild.key_pem) == wild
    with pytest.raises(Malformed, match="must be valid for"):
        accepted(wild.chain_pem, wild.key_pem, name="a.harbour.nodes.test")


def test_another_nodes_is_refused(tls: Tls) -> None:
    with pytest.raises(Malformed, match="must be valid for lighthouse"):
        accepted(tls.chain_pem, tls.key_pem, name="lighthouse.nodes.test")


@pytest.mark.parametrize("late", [-timedelta(days=1), LEAF_LIFE])
def test_one_that_is_not_valid_now_is_refused(tls: Tls, late: timedelta) -> None:
    with pytest.raises(Malformed, match="has expired, or is not valid yet"):
        accepted(tls.chain_pem, tls.key_pem, now=NOW + late)


def test_another_key_is_refused(tls: Tls, authority: Authority) -> None:
    other = authority.issue(NAME, now=NOW)
    with pytest.raises(Malformed, match="must be the private key"):
        accepted(tls.chain_pem, other.key_pem)


def test_a_chain_in_the_wrong_order_is_refused(tls: Tls) -> None:
    end = b"-----END CERTIFICATE-----\n"
    leaf, intermediate, _ = tls.chain_pem.split(end)
    with pytest.raises(Malformed, match="issued by the next"):
        accepted(intermediate + end + leaf + end, tls.key_pem)


@pytest.mark.parametrize(
    "chain",
    [
        b"",
        b"not a certificate",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        b"x" * 70_000,
    ],
)
def test_what_is_no_chain_is_refused(chain: bytes, tls: Tls) -> None:
    with pytest.raises(Malformed, match="certificate: "):
        accepted(chain, tls.key_pem)


def test_keys_that_lnd_cannot_use_are_refused(tls: Tls) -> None:
    odd = ed25519.Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    locked = load_pem_private_key(tls.key_pem, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2")
    )
    bitcoins = ec.generate_private_key(ec.SECP256K1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    short = rsa.generate_private_key(65537, 1024).private_bytes(  # noqa: S505
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    for key, why in (
        (odd, "elliptic"),
        (bitcoins, "P-256"),
        (short, "2048 to 4096 bits"),
        (locked, "password"),
        (b"", "must be a PEM key"),
    ):
        with pytest.raises(Malformed, match=why):
            accepted(tls.chain_pem, key)


def test_a_key_that_openssl_cannot_explain_is_refused(tls: Tls) -> None:
    """One of Ed448, as it says, has 57 bytes; this one has 32."""
    odd = ed25519.Ed25519PrivateKey.generate().private_bytes(
        Encoding.DER, PrivateFormat.PKCS8, NoEncryption()
    )
    odd = odd.replace(bytes.fromhex("06032b6570"), bytes.fromhex("06032b6571"))
    with pytest.raises(Malformed, match="must be a PEM key"):
        accepted(tls.chain_pem, pem("PRIVATE KEY", odd).encode())


def test_a_key_that_is_too_long_is_not_read(tls: Tls) -> None:
    for key, why in (
        (mersenne(4423, 4253), "2048 to 4096 bits"),
        (pkcs8(2**5000 - 1), "2048 to 4096 bits"),
        (mersenne(9941, 9689), "at most 8 KiB"),
        (pkcs8(2**4096 - 1), "numbers do not match"),
        (of_primes(2**1279 - 1, 2**1279 - 1 << 1 | 1, e=2**32 + 15), "do not match"),
    ):
        with pytest.raises(Malformed, match=why):
            accepted(tls.chain_pem, key.encode())


def test_that_primes_are_primes_is_not_looked_at() -> None:
    """It takes the cube of their length; a key that is none harms its owner alone."""
    key = parse_key(of_primes((2**521 - 1) * (2**607 - 1), 2**1279 - 1))
    assert isinstance(key, rsa.RSAPrivateKey)


@pytest.mark.parametrize(
    "kind", [rsa.generate_private_key(65537, size) for size in (2048, 3072)]
)
def test_honest_keys_of_rsa_are_read(kind: rsa.RSAPrivateKey) -> None:
    for form in (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL):
        written = kind.private_bytes(Encoding.PEM, form, NoEncryption())
        assert (
            parse_key(f"Bag Attributes\n{written.decode()}").key_size == kind.key_size
        )


def test_the_parameters_of_a_curve_may_stand_before_its_key() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    form = PrivateFormat.TraditionalOpenSSL
    written = key.private_bytes(Encoding.PEM, form, NoEncryption()).decode()
    named = pem("EC PARAMETERS", bytes.fromhex("06082a8648ce3d030107"))
    assert parse_key(f"{named}\n{written}").public_key() == key.public_key()


def self_signed(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(7)
    builder = builder.not_valid_before(NOW).not_valid_after(NOW + LEAF_LIFE)
    return builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


@pytest.mark.parametrize("named", ["subject", "issuer"])
@pytest.mark.parametrize("broken", forged.UNREADABLE)
def test_a_name_that_cannot_be_read_is_refused(named: str, broken: bytes) -> None:
    """Whoever looks for certificates of our own reads the names of all nodes'."""
    fine = forged.by_nobody(NAME, now=NOW, **{named: forged.READABLE})
    assert accepted(fine.chain_pem, fine.key_pem).chain_pem == fine.chain_pem
    worse = forged.by_nobody(NAME, now=NOW, **{named: broken})
    with pytest.raises(Malformed, match="certificate: must be a PEM chain"):
        accepted(worse.chain_pem, worse.key_pem)


def test_a_chain_is_not_long() -> None:
    one = self_signed(ec.generate_private_key(ec.SECP256R1()))
    for many in (one * 11, one.replace(b" CERT", b" X509 CERT") * 11):
        with pytest.raises(Malformed, match="at most 10 certificates"):
            accepted(many, b"")
    with pytest.raises(Malformed, match="must be valid for"):
        accepted(one * 10, b"")


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 1024),  # noqa: S505
        rsa.generate_private_key(65537, 4104),
        ec.generate_private_key(ec.SECP256K1()),
    ],
)
def test_keys_in_a_chain_are_of_kinds_that_are_checked_in_no_time(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey,
) -> None:
    with pytest.raises(Malformed, match="certificate: keys must be"):
        accepted(self_signed(key), b"")
