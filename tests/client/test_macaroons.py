"""Macaroons are read and narrowed as the formats' authors meant it."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from leyden.client import macaroons
from leyden.errors import Malformed
from tests.bakery import READER, baked

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "caveats",
    [
        ["time-before 2026-03-01T12:00:00Z"],
        ["time-before 2026-03-01T12:00:00Z", "ipaddr 192.0.2.7"],
        ["x" * 127],
        ["x" * 128, "y"],
        ["é" * 300],
    ],
    ids=["one", "two", "127", "128", "long"],
)
def test_a_caveat_is_added_as_the_holder_may(caveats: list[str]) -> None:
    found = baked(READER).hex()
    for caveat in caveats:
        found = macaroons.narrowed(found, caveat)
    assert found == baked(READER, *caveats).hex()
    assert macaroons.parse(found).caveats == tuple(caveats)


def test_it_says_what_it_may_and_under_which_root_key() -> None:
    said = macaroons.parse(baked(READER).hex())
    assert said.root_key_id == "7"
    assert said.permissions == ("info:read", "offchain:read")
    assert said.caveats == ()
    assert said.hex not in repr(said)


def test_every_way_of_writing_it_is_read() -> None:
    made = baked(READER, "ipaddr 192.0.2.7")
    for text in (
        made.hex(),
        made.hex().upper(),
        f" {made.hex()}\n",
        base64.b64encode(made).decode(),
        base64.urlsafe_b64encode(made).decode().rstrip("="),
    ):
        assert macaroons.parse(text).hex == made.hex()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00",
        "0201",
        "harbour light",
        baked(READER).hex()[:-2],
        baked(READER).hex() + "00",
        baked(b"\x03\xff\xff").hex(),
        "02" + "02ffffffff7f" + "00",
        "02" * 40,
    ],
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="not a valid macaroon"):
        macaroons.parse(text)


def test_caveats_are_in_lnds_own_words() -> None:
    until = NOW + timedelta(days=1)
    said = macaroons.caveats(address="192.0.2.7", until=until, now=NOW)
    assert said == ["time-before 2026-03-02T12:00:00Z", "ipaddr 192.0.2.7"]
    block = macaroons.caveats(address="2001:db8::/32", until=None, now=NOW)
    assert block == ["iprange 2001:db8::/32"]
    assert macaroons.caveats(address="", until=None, now=NOW) == []
    wrong: list[tuple[str, datetime | None]] = [
        ("harbour", None),
        ("192.0.2.7\n", None),
        ("", NOW),
    ]
    for address, ends in wrong:
        with pytest.raises(Malformed):
            macaroons.caveats(address=address, until=ends, now=NOW)


def test_presets_are_parts_of_what_there_is() -> None:
    for preset in macaroons.PRESETS.values():
        assert set(preset) <= set(macaroons.CHOICES)
    assert all(each.endswith(":read") for each in macaroons.PRESETS["read-only"])
    assert not any("macaroon" in each for each in macaroons.PRESETS["payments"])
