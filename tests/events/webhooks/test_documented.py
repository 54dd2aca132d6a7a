"""What docs/customers/webhooks.md tells people to type works."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from leyden.events.rules.deliveries import RETRIES
from leyden.events.rules.webhooks import WebhookType, body, signature_headers

PAGE = (Path(__file__).parents[3] / "docs" / "customers" / "webhooks.md").read_text()
SECRET = "3f" * 32


def documented() -> Callable[[str, dict[str, str], bytes], bool]:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102  that is what a reader does
    is_genuine: Callable[[str, dict[str, str], bytes], bool] = names["is_genuine"]
    return is_genuine


def test_the_check_to_copy_takes_ours_and_nothing_else() -> None:
    is_genuine = documented()
    text = body(
        WebhookType.STATUS,
        {"status": "waiting_unlock"},
        api="harbour-light.example.org",
    )
    now = datetime.now(UTC)
    headers = signature_headers([SECRET], event_id="msg_tide", sent=now, body=text)
    assert is_genuine(SECRET, headers, text.encode())
    assert not is_genuine("a7" * 32, headers, text.encode())
    assert not is_genuine(SECRET, headers, text.encode() + b" ")
    old = signature_headers(
        [SECRET], event_id="msg_tide", sent=now - timedelta(minutes=6), body=text
    )
    assert not is_genuine(SECRET, old, text.encode())


def test_the_waits_are_those_of_the_schedule() -> None:
    text = "5 s, 30 s, 2 min, 10 min, 1 h, 3 h, 6 h, 12 h and 24 h"
    assert text in PAGE
    seconds = [wait.total_seconds() for wait in RETRIES]
    assert seconds == [5, 30, 120, 600, 3600, 10800, 21600, 43200, 86400]
