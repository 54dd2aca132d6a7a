"""One suite for every authority that certificates are had from."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from leyden.base.http.server import bind, serving
from leyden.errors import AuthorityAway, AuthorityRefused
from leyden.nodes.api.challenges import Challenges
from leyden.nodes.certificates import jws, pem_chain
from leyden.nodes.certificates.acme import AcmeAccount, AcmeIssuer
from leyden.nodes.certificates.keys import key_pem, new_key, signing_request
from leyden.nodes.certificates.roots import Roots
from leyden.nodes.issuance import Issuer
from tests import pebble
from tests.fakes.issuer import FakeIssuer
from tests.ports import free_port

NAME = "harbour-light.nodes.test"


@dataclass
class Case:
    """An authority, and what lies beside it."""

    issuer: Issuer
    nobody: Issuer  # an authority that is not there
    unanswered: Issuer  # one that finds no answers
    roots: Roots  # who is above what it issues


@pytest.fixture(params=["fake", pytest.param("pebble", marks=pytest.mark.real)])
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Case]:
    if request.param == "fake":
        now = datetime.now(UTC)
        issuer, nobody, unanswered = (
            FakeIssuer(tmp_path / "authority", now=now) for _ in range(3)
        )
        issuer.refused.add(pebble.BLOCKED)
        nobody.away, unanswered.answered = True, False
        roots = Roots(str(tmp_path / "authority" / "root.pem"))
        yield Case(issuer, nobody, unanswered, roots)
        return
    with pebble.running(await pebble.program(), tmp_path / "pebble") as authority:
        trusting = ssl.create_default_context(cafile=authority.authorities)
        key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        nowhere = f"https://127.0.0.1:{free_port()}/dir"
        account = AcmeAccount(key=key, email="keeper@harbour.example")
        # Answers are for the key of the first account.
        here = AcmeIssuer(authority.directory, account, tls=trusting)
        away = AcmeIssuer(nowhere, account, tls=trusting)
        silent = AcmeIssuer(authority.directory, AcmeAccount(key=other), tls=trusting)
        async with answering(key, authority.answers_port):
            yield Case(here, away, silent, Roots(str(authority.authorities)))
        for each in (here, away, silent):
            await each.close()


@asynccontextmanager
async def answering(key: ec.EllipticCurvePrivateKey, port: int) -> AsyncIterator[None]:
    sockets = bind("127.0.0.1", port)
    async with serving(Challenges(jws.thumbprint(key)), sockets, grace_s=1):
        yield


async def taken_on(issuer: Issuer, url: str, request: bytes) -> bytes:
    async with asyncio.timeout(30):
        while isinstance(got := await issuer.advance(url, request), timedelta):
            assert got > timedelta(0)
            await asyncio.sleep(0.1)  # it says how long is polite; here nobody minds
    return got


async def test_an_order_ends_in_a_chain_for_that_name_and_key(case: Case) -> None:
    key = key_pem(new_key())
    url = await case.issuer.begin(NAME)
    chain = await taken_on(case.issuer, url, signing_request(key, NAME))
    tls = pem_chain.parse(
        chain.decode(), key.decode(), name=NAME, now=datetime.now(UTC)
    )
    leaf, *_ = x509.load_pem_x509_certificates(tls.chain_pem)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == [NAME]


async def test_who_lost_the_answer_asks_again_and_is_given_the_same(case: Case) -> None:
    request = signing_request(key_pem(new_key()), NAME)
    url = await case.issuer.begin(NAME)
    first = await taken_on(case.issuer, url, request)
    assert await case.issuer.advance(url, request) == first


async def test_the_root_above_its_chain_is_found(case: Case) -> None:
    url = await case.issuer.begin(NAME)
    request = signing_request(key_pem(new_key()), NAME)
    chain = await taken_on(case.issuer, url, request)
    root = x509.load_pem_x509_certificate(case.roots.root_of(chain))
    x509.load_pem_x509_certificates(chain)[-1].verify_directly_issued_by(root)
    assert root.issuer == root.subject


async def test_a_name_it_issues_nothing_for_is_refused(case: Case) -> None:
    with pytest.raises(AuthorityRefused):
        await case.issuer.begin(pebble.BLOCKED)


async def test_a_name_at_which_nobody_answers_ends_the_order(case: Case) -> None:
    url = await case.unanswered.begin(NAME)
    request = signing_request(key_pem(new_key()), NAME)
    for _ in range(2):
        with pytest.raises(AuthorityRefused):
            await taken_on(case.unanswered, url, request)


async def test_an_order_that_is_not_there_is_refused(case: Case) -> None:
    url = await case.issuer.begin(NAME)
    request = signing_request(key_pem(new_key()), NAME)
    with pytest.raises(AuthorityRefused):
        await case.issuer.advance(f"{url}-not", request)


async def test_one_that_is_away_is_no_answer(case: Case) -> None:
    with pytest.raises(AuthorityAway):
        await case.nobody.begin(NAME)
    with pytest.raises(AuthorityAway):
        await case.nobody.advance("https://127.0.0.1:1/order", b"")
