"""No cache between us and a caller keeps an answer of the API, whatever it says."""

from collections.abc import Iterator

import pytest

from leyden.app.serving.public import Public
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.nodes.api.challenges import PREFIX, Challenges
from leyden.nodes.api.gateways import PATH, Gateways
from leyden.nodes.wiring import gateways
from tests.base.api.conftest import Answer, Caller
from tests.base.api.wire import Echo, Running, running

TOKEN = "21 million and not one more"


def kept_by_nobody(answer: Answer) -> bool:
    return answer.headers.get("cache-control") == "no-store"


async def test_no_answer_of_the_api_is_stored(alice: Caller, nobody: Caller) -> None:
    nodes = f"/organizations/{alice.organization_id}/nodes"
    for method, path, status in (
        ("GET", "/key", 200),
        ("HEAD", "/key", 200),
        ("GET", "/key?what", 400),
        ("GET", "/nowhere", 404),
        ("PUT", nodes, 405),
        ("OPTIONS", nodes, 204),
        ("POST", nodes, 415),
    ):
        answer = await alice.call(method, path)
        assert (answer.status, kept_by_nobody(answer)) == (status, True), path
    answer = await nobody.get("/key")
    assert (answer.status, kept_by_nobody(answer)) == (401, True)


async def test_nor_is_what_needs_no_key(alice: Caller, platform: Platform) -> None:
    given = Settings(gateway_token=TOKEN, gateway_control="http://127.0.0.1")
    reported = gateways.far_gateway(given)
    assert reported is not None
    public = Public(
        platform,
        alice.api,
        version="0.1.0",
        gateways=Gateways(reported, failures_per_minute=1),
        challenges=Challenges("thumbprint"),
    )
    caller = Caller(public, None, "")  # type: ignore[arg-type]
    for path, status in (
        ("/health/live", 200),
        ("/health/ready", 200),
        ("/openapi.json", 200),
        (f"{PREFIX}0123456789abcdef", 200),
        (f"{PREFIX}!", 404),
        (PATH, 405),
    ):
        answer = await caller.get(path)
        assert (answer.status, kept_by_nobody(answer)) == (status, True), path


@pytest.fixture
def server() -> Iterator[Running]:
    with running(Echo()) as it:
        yield it


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /fails HTTP/1.1\r\nHost: leyden.example\r\n\r\n", 500),
    ],
)
def test_nor_is_what_the_server_itself_refuses(
    server: Running, sent: bytes, status: int
) -> None:
    (answer,) = server.send(sent)
    assert (answer.status, answer.headers["cache-control"]) == (status, "no-store")
