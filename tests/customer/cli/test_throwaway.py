"""The lnd of a drill: of a seed alone, and nobody reaches it or is reached."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.customer.wallet import throwaway
from leyden.customer.wallet.throwaway import throwaway_lnd
from leyden.errors import Refused
from tests.programs import built

pytestmark = pytest.mark.real
MEMORY = Path("/dev/shm")  # noqa: S108
# Of a wallet that was made for this test, and never had a coin.
SEED = (
    "abandon ability crazy drum home mention music smart edit basic slot globe camp "
    "gallery spring flag wash valve guitar exhibit door position kind laundry"
)
PUBLIC_KEY = "02c614c8cdb819ac27d8e6a91d3971f053111979ff0cf02dd4ce63a9760ab21946"


@pytest.fixture(scope="module")
def lnd() -> Path:
    return built("lnd")["lnd"]


def inside() -> list[Path]:
    return list(MEMORY.glob("leyden-drill-*"))


def sockets() -> Iterator[str]:
    """List the network addresses that processes of a drill have."""
    open_: set[str] = set()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if b"leyden-drill-" in (each / "cmdline").read_bytes():
                open_ |= {str(fd.readlink()) for fd in (each / "fd").iterdir()}
        except OSError:
            continue
    assert open_
    for name in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            if f"socket:[{line.split()[9]}]" in open_:
                yield line


def test_it_knows_its_seed_and_has_no_address(lnd: Path) -> None:
    before = inside()
    with throwaway_lnd(lnd, SEED.split(), mainnet=False) as found:
        assert found.public_key() == PUBLIC_KEY
        assert list(sockets()) == []
        (folder,) = set(inside()) - set(before)
        assert folder.stat().st_mode & 0o077 == 0
        with pytest.raises(Refused, match="channel backup"):
            found.verify_channels(os.urandom(200))
    assert inside() == before


def test_words_that_are_no_seed_are_refused_and_leave_nothing(lnd: Path) -> None:
    before = inside()
    words = [*SEED.split()[:-1], "zoo"]
    with (
        pytest.raises(Refused, match="lnd refused"),
        throwaway_lnd(lnd, words, mainnet=False),
    ):
        raise AssertionError("it opened")
    assert inside() == before


def test_fields_are_written_and_read_as_protobuf_does() -> None:
    content = b"x" * 300
    written = throwaway._field(2, content) + throwaway._field(1, b"y")
    assert written[:3] == b"\x12\xac\x02"
    assert list(throwaway._fields(written)) == [(2, content), (1, b"y")]
