"""Calls by the files that let one in, which come and go like the lnd behind them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.errors import Away, NodeAway, NodeRefused
from leyden.lnd.rest import NODE
from leyden.nodes.lnd.connection import LndAccess, LndConnection
from tests.authority import Authority
from tests.stand_in_lnd import StandInLnd

HOST = "127.0.0.1"


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def port(authority: Authority, tmp_path: Path) -> AsyncIterator[int]:
    authority.give(tmp_path, HOST)
    async with StandInLnd(tmp_path).serving(HOST, 0) as port:
        yield port


def access(folder: Path, port: int, *, is_new: bool = False) -> LndAccess:
    return LndAccess(
        host=HOST,
        port=port,
        certificate=folder / "trusted.cert",
        macaroon=folder / "some.macaroon",
        is_new=is_new,
    )


async def test_files_may_come_later(
    authority: Authority, port: int, tmp_path: Path
) -> None:
    connection = LndConnection(access(tmp_path, port), NODE)
    with pytest.raises(NodeAway, match="files can't be read: no such file"):
        await connection.call("GET", "/v1/state")
    (tmp_path / "trusted.cert").write_text(authority.pem)
    (tmp_path / "some.macaroon").write_bytes(b"\x02\x01")
    assert await connection.call("GET", "/v1/state") == {"state": "NON_EXISTING"}
    await connection.close()


async def test_a_certificate_that_was_renewed_is_read_again(
    authority: Authority, port: int, tmp_path: Path
) -> None:
    (tmp_path / "trusted.cert").write_text(Authority("the one before").pem)
    (tmp_path / "some.macaroon").write_bytes(b"\x02\x01")
    connection = LndConnection(access(tmp_path, port), NODE)
    with pytest.raises(NodeAway, match="the node does not respond"):
        await connection.call("GET", "/v1/state")
    (tmp_path / "trusted.cert").write_text(authority.pem)
    assert await connection.call("GET", "/v1/state") == {"state": "NON_EXISTING"}
    await connection.close()


async def test_only_a_new_one_is_called_without_a_macaroon(
    authority: Authority, port: int, tmp_path: Path
) -> None:
    (tmp_path / "trusted.cert").write_text(authority.pem)
    old = LndConnection(access(tmp_path, port), NODE)
    with pytest.raises(Away):
        await old.call("GET", "/v1/state")
    new = LndConnection(access(tmp_path, port, is_new=True), NODE)
    assert await new.call("GET", "/v1/state") == {"state": "NON_EXISTING"}
    with pytest.raises(NodeRefused, match="/v1/unlockwallet in NON_EXISTING"):
        await new.call("POST", "/v1/unlockwallet", {})
    await new.close()
