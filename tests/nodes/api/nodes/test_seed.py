import base64
from pathlib import Path
from typing import Any

import pytest

from tests.base.api.conftest import Caller
from tests.nodes.api.nodes.conftest import CIPHERTEXT, refusal

WORDS = "abandon " * 23 + "art"


async def test_it_is_kept_and_comes_back_byte_for_byte(
    alice: Caller, path: str, node: dict[str, Any]
) -> None:
    seed = {
        "node_id": node["node_id"],
        "node_name": "harbour light",
        "seed": CIPHERTEXT,
    }
    assert (await alice.post(f"{path}/seed", {"seed": CIPHERTEXT})).json() == seed
    assert (await alice.get(f"{path}/seed")).json() == seed


async def test_it_is_written_once(alice: Caller, path: str) -> None:
    await alice.post(f"{path}/seed", {"seed": CIPHERTEXT})
    status, _ = refusal(await alice.post(f"{path}/seed", {"seed": CIPHERTEXT}))
    assert status == 409


async def test_before_there_is_one_there_is_none(alice: Caller, path: str) -> None:
    assert (await alice.get(f"{path}/seed")).status == 404


@pytest.mark.parametrize(
    "seed",
    [
        WORDS,
        WORDS.upper(),
        WORDS.replace(" ", ","),
        base64.b64encode(WORDS.encode()).decode(),
        WORDS.encode().hex(),
        "my seed is safe with you",
        "",
        "A" * 64,
        CIPHERTEXT * 40,
    ],
)
async def test_what_is_not_encrypted_leaves_no_trace(
    alice: Caller,
    path: str,
    seed: str,
    tmp_path: Path,
    logged: pytest.LogCaptureFixture,
) -> None:
    status, message = refusal(await alice.post(f"{path}/seed", {"seed": seed}))
    assert status == 400
    assert message.startswith("seed: ")
    for stored_backups in (message, logged.text):
        assert "abandon" not in stored_backups
        assert len(seed) < 24 or seed not in stored_backups  # whatever it is written in
    assert (await alice.get(f"{path}/seed")).status == 404
    for file in tmp_path.iterdir():
        assert b"abandon" not in file.read_bytes()


async def test_nothing_of_it_is_on_disk_in_clear(
    alice: Caller, path: str, tmp_path: Path
) -> None:
    await alice.post(f"{path}/seed", {"seed": CIPHERTEXT})
    for file in tmp_path.iterdir():
        assert CIPHERTEXT[:40].encode() not in file.read_bytes()
