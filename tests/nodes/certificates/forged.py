"""What somebody signs without our checks: by an authority's keys, or by their own."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from ssl import DER_cert_to_PEM_cert

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from leyden.nodes.certificates import certificate
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.certificates.constraints import general_names
from leyden.nodes.certificates.keys import key_pem, load_key, new_key
from leyden.nodes.lnd.home import Tls

# A name as a certificate has it, and what is none.
READABLE = b"\x0c\x06lonely"
UNREADABLE = (
    b"\x0c\x06" + b"\xff" * 6,  # no UTF-8
    b"\x03\x06\x00onely",  # a string of bits
    b"\x17\x06lonely",  # a time, at which OpenSSL alone takes offence
)


def by_intermediate(authority: Authority, name: str) -> Tls:
    """Sign any name with the intermediate's key."""
    intermediate = certificate.pem(authority.intermediate)
    return _leaf(name, authority.intermediate, authority.key, intermediate)


def by_root(folder: Path, name: str) -> Tls:
    """Sign an intermediate without constraints by the root's key, and a name by it."""
    root = x509.load_pem_x509_certificate((folder / "root.pem").read_bytes())
    root_key = load_key((folder / "root.key").read_bytes())
    key = new_key()
    now = datetime.now(UTC)
    intermediate = certificate.sign(
        _name("Leyden nodes"),
        key.public_key(),
        issuer=root.subject,
        issuer_key=root_key,
        since=now,
        until=now + timedelta(days=30),
        extensions=(x509.BasicConstraints(ca=True, path_length=0),),
    )
    return _leaf(name, intermediate, key, certificate.pem(intermediate))


def by_nobody(name: str, *, now: datetime, **names: bytes) -> Tls:
    """Sign a name alone, with these bytes as the name of its subject or its issuer."""
    key = new_key()
    subject, issuer = (
        _name("lonely" if which in names else "steady")
        for which in ("subject", "issuer")
    )
    der = certificate.sign(
        subject,
        key.public_key(),
        issuer=issuer,
        issuer_key=key,
        since=now,
        until=now + timedelta(days=30),
        extensions=(x509.SubjectAlternativeName(general_names([name])),),
    ).public_bytes(Encoding.DER)
    for content in names.values():
        der = der.replace(READABLE, content)
    return Tls(chain_pem=DER_cert_to_PEM_cert(der).encode(), key_pem=key_pem(key))


def _leaf(
    name: str,
    issuer: x509.Certificate,
    issuer_key: ec.EllipticCurvePrivateKey,
    above: bytes,
) -> Tls:
    key, now = new_key(), datetime.now(UTC)
    leaf = certificate.sign(
        _name(name),
        key.public_key(),
        issuer=issuer.subject,
        issuer_key=issuer_key,
        since=now,
        until=now + timedelta(days=30),
        extensions=(
            x509.BasicConstraints(ca=False, path_length=None),
            x509.SubjectAlternativeName(general_names([name])),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        ),
    )
    return Tls(chain_pem=certificate.pem(leaf) + above, key_pem=key_pem(key))


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
