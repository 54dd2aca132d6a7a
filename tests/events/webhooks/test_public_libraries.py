"""The public Standard Webhooks libraries of other languages verify our signatures.

That of Python does in tests/events/test_subscriptions.py.
"""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from leyden.base.rules.times import utc_now
from leyden.events.rules.webhooks import signature_headers
from tests.npm import installed
from tests.programs import require

_TESTS = Path(__file__).parents[2]
_JAVASCRIPT = _TESTS / "standardwebhooks-1.0.0"
_GO = _TESTS / "standardwebhooks-go-0.0.1"
SECRET, OTHER = "ab" * 32, "cd" * 32
BODY = '{"type":"order.paid","data":{"order_id":"1FO"}}'
EVENT = "evt_00000000002a51c79d0e4b7f83a2c6d1"


async def verified(*command: str, folder: Path, secret: str, body: str) -> bool:
    """Return whether a library accepts the body as signed by our two secrets."""
    headers = signature_headers(
        [SECRET, OTHER], event_id=EVENT, sent=utc_now(), body=BODY
    )
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    sent = {"secret": secret, "headers": headers, "body": body}
    _, said = await process.communicate(json.dumps(sent).encode())
    if process.returncode:
        assert b"no matching signature found" in said.lower(), said
    return process.returncode == 0


async def all_verified(*command: str, folder: Path) -> list[bool]:
    return [
        await verified(*command, folder=folder, secret=secret, body=body)
        for secret, body in (
            (SECRET, BODY),
            (OTHER, BODY),  # the one from before, which signs for a day
            ("ef" * 32, BODY),
            (SECRET, BODY.replace("1FO", "2FO")),
        )
    ]


async def test_the_library_of_javascript_verifies_what_we_sign(tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(await installed(_JAVASCRIPT))
    script = shutil.copy(_JAVASCRIPT / "verify.js", tmp_path)
    found = await all_verified("node", str(script), folder=tmp_path)
    assert found == [True, True, False, False]


@pytest.mark.timeout(600)  # Go may have to compile its library first
async def test_the_library_of_go_verifies_what_we_sign(tmp_path: Path) -> None:
    go = require("go")
    shutil.copytree(_GO, tmp_path / "verify")
    process = await asyncio.create_subprocess_exec(
        *(go, "build", "-mod=readonly", "-o", "verify", "."),
        cwd=tmp_path / "verify",
        env={**os.environ, "GOTOOLCHAIN": "local"},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    if process.returncode and b"dial tcp" in said:
        pytest.skip("Go could not fetch the library: is there a network?")
    assert process.returncode == 0, said.decode()
    found = await all_verified("./verify", folder=tmp_path / "verify")
    assert found == [True, True, False, False]
