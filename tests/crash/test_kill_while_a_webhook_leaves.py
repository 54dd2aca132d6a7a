"""F21: killed between the POST and its being known, it is sent again under its id."""

import re
from collections.abc import Iterator

import pytest

from tests.crash import post_victim
from tests.crash.conftest import crash_points, run_victim, some_or_all
from tests.events.webhooks.conftest import Receiver

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(600)]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@some_or_all
@pytest.mark.parametrize("calls", ["fsync,fdatasync", "sendto"])
async def test_whatever_is_killed_it_arrives_under_one_id(
    fresh: Iterator[str], calls: str, every: int
) -> None:
    for number, url in zip(crash_points(every), fresh, strict=False):
        with Receiver(OK) as receiver:
            await post_victim.announce(url, receiver.url)
            words = ("deliver", url, receiver.url)
            module = "tests.crash.post_victim"
            said = run_victim(*words, module=module, kill_at=(calls, number))
            arrived = len(receiver.requests)
            after = run_victim(*words, module=module)
        assert not after.killed
        ids = {_id(each) for each in receiver.requests}
        # One of the node's webhook, and one of the subscription.
        assert sorted(each[:4] for each in ids) == [b"evt_", b"msg_"], (
            f"killed at {number}"
        )
        assert len(receiver.requests) <= 4
        if said.of("delivered"):
            assert len(receiver.requests) == arrived == 2, "known is known"
        if not said.killed:
            assert number > 1, "the run has to get that far"
            return


def _id(request: bytes) -> bytes:
    found = re.search(rb"(?im)^webhook-id: (.+?)\r$", request)
    assert found is not None
    return found[1]
