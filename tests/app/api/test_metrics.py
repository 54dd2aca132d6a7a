from collections.abc import MutableMapping
from typing import Any

from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from leyden.app.serving.public import metrics
from leyden.base.http.request_metrics import count
from tests.base.api.conftest import Answer, Caller
from tests.metrics import Observed


async def scrape(method: str = "GET", path: str = "/metrics") -> Answer:
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await metrics({"type": "http", "method": method, "path": path}, receive, send)
    start, body = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], headers, body["body"])


def answered(operation: str, status: str) -> float:
    labels = {"operation": operation, "status": status}
    return REGISTRY.get_sample_value("leyden_requests_total", labels) or 0


async def test_answers_are_counted_and_timed_by_operation_method_and_status(
    alice: Caller,
) -> None:
    name = "leyden_request_duration_seconds"
    known = {"operation": "keys_show", "method": "GET", "status": "2xx"}
    listed, before = Observed.since_now(name, **known), answered("keys_show", "200")
    refused = Observed.since_now(name, operation="", method="", status="4xx")
    assert (await alice.get("/key")).status == 200
    assert (await alice.get("/nowhere")).status == 404
    assert (await Caller(alice.api, None, "").get("/key")).status == 401
    number, seconds = listed.new()
    assert number == 1
    assert 0 < seconds < 10
    assert answered("keys_show", "200") == before + 1
    assert refused.new()[0] == 2


async def test_what_a_caller_makes_up_is_no_label(alice: Caller) -> None:
    await alice.get("/warm")
    before = (await scrape()).body.count(b"\n")
    for number in range(5):
        await alice.get(f"/organizations/{alice.organization_id}/{number}")
        await alice.call(f"GET{number}", f"/{number}")
    text = (await scrape()).body
    assert text.count(b"\n") == before
    assert alice.organization_id.encode() not in text


async def test_who_asks_to_wait_is_counted_and_not_timed() -> None:
    count("gateways_discovery", 304)
    assert answered("gateways_discovery", "304") >= 1
    text = (await scrape()).body.decode()
    assert 'duration_seconds_count{method="POST",operation="gateways' not in text


async def test_prometheus_reads_what_is_exposed(alice: Caller) -> None:
    await alice.get("/warm")
    answer = await scrape()
    assert answer.status == 200
    assert answer.headers == {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "content-length": str(len(answer.body)),
        "cache-control": "no-store",
    }
    families = text_string_to_metric_families(answer.body.decode())
    types = {family.name: family.type for family in families}
    assert types["leyden_requests"] == "counter"
    assert types["leyden_request_duration_seconds"] == "histogram"
    assert types["leyden_alarm"] == "gauge"
    assert not any(name.endswith("_created") for name in types)
    assert (await scrape("HEAD")).body == b""


async def test_there_is_nothing_else_beside_the_metrics() -> None:
    assert (await scrape(path="/")).status == 404
    assert (await scrape("POST")).status == 404
