"""Large backups, one after the other by several callers: nobody else waits for them."""

import asyncio
import base64
import json
from collections import Counter

from leyden.nodes.ciphertext.recognition import MACAROON_LIMIT
from tests.base.api.conftest import Caller
from tests.loop_work import Longest
from tests.nodes.api.nodes.conftest import CIPHERTEXT, sha256_of

_CALLERS = 8
_LARGE = 256 * 1024
_AT_LEAST = 20  # of somebody else's requests, while they upload


def largest() -> bytes:
    """As many backups as fit into a body, each of which takes as long as any."""
    each = base64.b64encode(bytes(range(256)) * 24).hex()
    assert len(each) == MACAROON_LIMIT
    entry = {"macaroon": each, "replaces": sha256_of(CIPHERTEXT)}
    number = (_LARGE - 1_000) // (len(json.dumps(entry)) + 20)
    entries = [{**entry, "name": f"{n}"} for n in range(number)]
    body = json.dumps({"macaroons": entries}).encode()
    assert _LARGE * 0.9 < len(body) <= _LARGE
    return body


async def test_large_backups_at_pace_hold_up_nobody_else(
    alice: Caller, charlie: Caller, path: str
) -> None:
    body = largest()
    stored_backups = {"macaroon": CIPHERTEXT, "name": "0"}
    assert (await alice.post(f"{path}/macaroon", stored_backups)).status == 200
    theirs = f"/organizations/{charlie.organization_id}/nodes"
    assert (await charlie.get(theirs)).status == 200  # which fills caches
    answers: Counter[int] = Counter()
    others: Counter[int] = Counter()

    async def upload() -> None:
        while True:
            answer = await alice.call("POST", f"{path}/reseal", body)
            answers[answer.status] += 1

    async def look() -> None:
        while others[200] < _AT_LEAST or answers.total() < _CALLERS:
            others[(await charlie.get(theirs)).status] += 1
            await asyncio.sleep(0.05)

    with Longest() as longest:
        uploading = [asyncio.create_task(upload()) for _ in range(_CALLERS)]
        await look()
    for each in uploading:  # those that wait for their turn go on for a while
        each.cancel()
    await asyncio.gather(*uploading, return_exceptions=True)

    assert longest.is_short, (longest.calls, longest.seconds)
    assert set(others) == {200}
    assert set(answers) <= {400, 409, 429}
    shown = await alice.get(f"{path}/macaroon/0")
    assert shown.json()["macaroon"] == CIPHERTEXT
