"""A ticket's id is read from its text, which poold may have spoilt."""

import hashlib

import pytest

from leyden.channels.tickets.ticket_text import ref_of
from leyden.errors import MarketAway
from tests.channels.tickets.stand_in_poold import written

# The one that pool holds its own format to (sidecar/codec_test.go).
REAL = (
    "sidecar13HtPsD1UiB2EA4ZfUbnVejG1Pu3p1GW2ydq65NZBuQgTaD9LRESHtKasXwNrQPYqkwkMyJ"
    "NFiNoBig4PBQQKoKeXz5jHWXZ3pMZNX5JW2FXyf6zKTPWthRQczNQuf2pM8ppjTqHK6tYTEReZk7pFy"
    "nYJoHnAeBtix28k2PiRSz5qVVmHpWHWFgVjxihEmcD1T1V1g5LwzbXTj6Ype6a5r18BuMDF8w7qxEim"
    "535S7tjU2MtbX1XtKBSq8TP3JY2TCy52yShkTgxSUTQ5mboE42hTDosSJ71QbZNDGEPERJLhXDGn56G"
    "ae45WS9AaZ2v71mxYfZGFiRCmsR8ZL9KzYR7nHi96GYZxYjP6pUEeyXyAr31w1uhFeAx64RHMpVXTo4"
    "ihppUWgguiV8Abjr3UHQa4eRzhVk2uJQT3XDsAPbCP5wzPpaQdm32VSYmgHJXBYUEgWGw5uavxES39F"
    "xvPPFEJKZLFkCJsrBXqKzUjMqdztiSmaz5Rcr"
)


def test_the_id_of_a_real_ticket_is_read() -> None:
    assert ref_of(REAL) == "0706050403020100"


@pytest.mark.parametrize("ref", ["0000000000000000", "00ff00ff00ff00ff", "f" * 16])
def test_the_id_is_what_was_written(ref: str) -> None:
    assert ref_of(written(bytes.fromhex(ref))) == ref


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sidecar",
        "sidecar1",
        "sidecar1harbour",
        "sidecar10OIl",
        "lnbc" + REAL.removeprefix("sidecar"),
        REAL.removeprefix("sidecar"),
        REAL[:-1],
        REAL[:-1] + "é",
        REAL.replace("A", "B"),
        REAL + " ",
    ],
)
def test_what_is_no_ticket_is_not_known(text: str) -> None:
    with pytest.raises(MarketAway, match="no ticket") as away:
        ref_of(text)
    assert REAL[20:40] not in away.value.message


def test_one_that_begins_with_anything_but_its_id_is_none() -> None:
    content = b"\x00\x02\x01\x01"
    checksum = hashlib.sha256(b"sidecar" + content).digest()[:4]
    with pytest.raises(MarketAway):
        ref_of(written(b"", complete=content + checksum))
