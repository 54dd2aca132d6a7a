"""Whose root is at the end of somebody's chain."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.certificates.roots import Roots

NOW = datetime.now(UTC)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return open_or_create(tmp_path / "authority", now=NOW)


def test_the_root_of_a_chain_is_found_in_a_file_beside_the_systems(
    authority: Authority, tmp_path: Path
) -> None:
    chain = authority.issue("harbour.nodes.test", now=NOW).chain_pem
    others = open_or_create(tmp_path / "other", now=NOW).root_pem
    file = tmp_path / "roots.pem"
    # As in systems' files: words between, and some that cannot be read.
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    file.write_bytes(b"# roots\n" + others + broken + authority.root_pem)
    assert Roots(str(file)).root_of(chain) == authority.root_pem


def test_nothing_is_above_a_root_and_nothing_is_made_up(authority: Authority) -> None:
    chain = authority.issue("harbour.nodes.test", now=NOW).chain_pem
    assert Roots().root_of(chain) == b""
    assert Roots("/nowhere").root_of(chain) == b""
    assert Roots().root_of(chain + authority.root_pem) == b""


def test_one_of_the_same_name_that_has_not_signed_it_is_not_taken(
    authority: Authority, tmp_path: Path
) -> None:
    chain = authority.issue("harbour.nodes.test", now=NOW).chain_pem
    key = ec.generate_private_key(ec.SECP256R1())
    impostor = (
        x509.CertificateBuilder()
        .subject_name(authority.root.subject)
        .issuer_name(authority.root.subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "roots.pem"
    file.write_bytes(impostor.public_bytes(Encoding.PEM))
    assert Roots(str(file)).root_of(chain) == b""
    file.write_bytes(file.read_bytes() + authority.root_pem)
    assert Roots(str(file)).root_of(chain) == authority.root_pem
