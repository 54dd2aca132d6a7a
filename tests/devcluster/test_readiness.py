"""When a machine is ready: once it says so, since it was started."""

from datetime import UTC, datetime
from typing import Any

import pytest

from leyden_workshop.devcluster.readiness import heard, ready

SAID = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)


def node(status: str, **other: str) -> dict[str, Any]:
    said = {"type": "Ready", "status": status, "lastHeartbeatTime": f"{SAID:%FT%TZ}"}
    return {"status": {"conditions": [{"type": "PIDPressure"}, {**said, **other}]}}


@pytest.mark.parametrize("second", [0, 5])
def test_a_machine_is_ready_once_it_says_so(second: int) -> None:
    since = SAID.replace(second=second, microsecond=999_999)
    assert ready(node("True"), since=since)


@pytest.mark.parametrize("second", [6, 50])
def test_what_it_said_before_it_was_started_does_not_count(second: int) -> None:
    assert not ready(node("True"), since=SAID.replace(second=second))


def test_a_machine_is_heard_once_it_renews_its_lease() -> None:
    lease = {"spec": {"renewTime": "2026-03-01T12:00:05.250000Z"}}
    assert heard(lease, since=SAID)
    assert not heard(lease, since=SAID.replace(second=6))
    assert not heard({"spec": {}}, since=SAID)


def test_a_machine_that_says_no_or_nothing_is_not_ready() -> None:
    assert ready(node("True"))
    assert not ready(node("False"))
    assert not ready(node("Unknown"))
    assert not ready({"status": {}})
