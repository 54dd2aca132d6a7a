"""F21: killed between the POST and its being known, it is sent again under its id."""

import re
from pathlib import Path

import pytest

from leyden.storage import schema
from tests.crash import post_victim
from tests.crash.conftest import run_victim
from tests.webhooks.conftest import Receiver

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(600)]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("calls", ["fsync,fdatasync", "sendto"])
async def test_whatever_is_killed_it_arrives_under_one_id(
    tmp_path: Path, calls: str
) -> None:
    for number in range(1, 100):
        url = f"sqlite:///{tmp_path}/{number}.db"
        schema.migrate(url)
        with Receiver(OK) as receiver:
            await post_victim.announce(url, receiver.url)
            words = ("deliver", url, receiver.url)
            module = "tests.crash.post_victim"
            said = run_victim(*words, module=module, kill_at=(calls, number))
            arrived = len(receiver.requests)
            after = run_victim(*words, module=module)
        assert not after.killed
        ids = {_id(each) for each in receiver.requests}
        assert len(ids) == 1, f"killed at {number}"
        assert len(receiver.requests) <= 2
        if said.of("delivered"):
            assert len(receiver.requests) == arrived == 1, "known is known"
        if not said.killed:
            assert number > 1, "the errand has to get that far"
            return
    raise AssertionError("the errand does not end")


def _id(request: bytes) -> bytes:
    found = re.search(rb"(?im)^webhook-id: (.+?)\r$", request)
    assert found is not None
    return found[1]
