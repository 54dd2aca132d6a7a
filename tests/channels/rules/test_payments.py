import pytest

from leyden.base.rules.units import Sats, part_per_million, rounded_up
from leyden.channels.rules.payments import Confirmations, Outpoint


@pytest.mark.parametrize(
    ("sats", "count"),
    [
        (0, 1),
        (999_999, 1),
        (1_000_000, 2),
        (4_999_999, 2),
        (5_000_000, 3),
        (16_700_000, 3),
    ],
)
def test_larger_sums_have_to_lie_deeper(sats: int, count: int) -> None:
    assert Confirmations().needed(Sats(sats)) == count


def test_an_outpoint_is_written_as_everyone_writes_it() -> None:
    assert str(Outpoint("ab" * 32, 1)) == "ab" * 32 + ":1"
    assert Outpoint.parse("ab" * 32 + ":21") == Outpoint("ab" * 32, 21)


@pytest.mark.parametrize("text", ["ab" * 32, "ab" * 32 + ":1:2", "", ":"])
def test_an_outpoint_without_its_number_is_no_outpoint(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        Outpoint.parse(text)


def test_division_rounds_up_and_only_when_it_must() -> None:
    assert rounded_up(10, 5) == 2
    assert rounded_up(11, 5) == 3
    assert part_per_million(1_000_001, 1_000) == 1_001
    assert part_per_million(0, 1_000) == 0
