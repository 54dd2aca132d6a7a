"""What an ACME authority is answered at our names, and what nobody else is told."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from leyden.app.endpoints import OPERATIONS
from leyden.app.serving.api import Api
from leyden.app.serving.public import Public
from leyden.base.platform import Platform
from leyden.nodes.api.challenges import Challenges
from leyden.nodes.certificates import jws
from tests.base.api.conftest import Caller

TOKEN = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA"
WELL_KNOWN = "/.well-known/acme-challenge"
THUMBPRINT = jws.thumbprint(ec.derive_private_key(21, ec.SECP256R1()))


@pytest.fixture(params=["alone", "in the API"])
def caller(request: pytest.FixtureRequest, platform: Platform) -> Caller:
    challenges = Challenges(THUMBPRINT)
    public = Public(
        platform, Api(platform, OPERATIONS), version="0.1.0", challenges=challenges
    )
    requested = challenges if request.param == "alone" else public
    return Caller(requested, None, "")  # type: ignore[arg-type]


async def test_the_answer_is_the_question_and_our_thumbprint(caller: Caller) -> None:
    answer = await caller.get(f"{WELL_KNOWN}/{TOKEN}")
    assert answer.status == 200
    assert answer.body.decode() == f"{TOKEN}.{THUMBPRINT}"
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "short",
        "a" * 257,
        f"{TOKEN}/",
        f"{TOKEN}.txt",
        f"../{TOKEN}",
        f"{TOKEN}\n",
        "<script>alert(1)</script>",
        "é" * 40,
        "Ａ" * 40,  # noqa: RUF001  full-width
    ],
)
async def test_what_is_no_question_is_not_found(caller: Caller, text: str) -> None:
    answer = await caller.get(f"{WELL_KNOWN}/{text}")
    assert (answer.status, answer.json()) == (404, {"message": "not found"})


async def test_it_is_asked_and_not_told(caller: Caller) -> None:
    answer = await caller.post(f"{WELL_KNOWN}/{TOKEN}", {})
    assert answer.status == 405
    assert "message" in answer.json()


async def test_where_nobody_is_asked_for_certificates_nobody_answers(
    platform: Platform,
) -> None:
    public = Public(platform, Api(platform, OPERATIONS), version="0.1.0")
    caller = Caller(public, None, "")  # type: ignore[arg-type]
    assert (await caller.get(f"{WELL_KNOWN}/{TOKEN}")).status in {401, 404}
