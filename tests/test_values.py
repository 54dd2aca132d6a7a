"""Our data classes are the standard library's in all that can be seen of them."""

import dataclasses
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from leyden.values import dataclass as ours

MAKERS = [dataclasses.dataclass, ours]


def pair(**how: Any) -> list[Any]:
    """Make the same class both ways."""
    made = []
    for maker in MAKERS:

        class Berth:
            name: str
            metres: int = 12
            notes: list[str] = field(default_factory=list, compare=False, repr=False)

        made.append(maker(**how)(Berth))
    return made


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"frozen": True},
        {"frozen": True, "slots": True},
        {"kw_only": True},
        {"eq": False},
        {"order": True},
    ],
    ids=str,
)
def test_they_show_compare_and_hash_alike(how: dict[str, Any]) -> None:
    theirs, mine = pair(**how)
    assert repr(mine(name="east")) == repr(theirs(name="east"))
    for kind in (theirs, mine):
        east, same, west = (kind(name=name) for name in ("east", "east", "west"))
        same.notes.append("not compared")
        assert (east == same) is how.get("eq", True)
        assert east != west
        assert east != ("east", 12)
        assert dataclasses.replace(east, name="west").name == "west"
        assert dataclasses.asdict(east) == {"name": "east", "metres": 12, "notes": []}
        assert kind.__match_args__ == (
            () if "kw_only" in how else theirs.__match_args__
        )
    assert (mine.__hash__ is None) is (theirs.__hash__ is None)
    if how.get("frozen"):
        assert len({mine(name="east"), mine(name="east"), mine(name="west")}) == 2


def test_a_frozen_one_does_not_change() -> None:
    _, berth = pair(frozen=True)
    with pytest.raises(FrozenInstanceError):
        berth(name="east").name = "west"


def test_what_a_class_defines_itself_stays() -> None:
    @ours(frozen=True)
    class Secret:
        value: str

        def __repr__(self) -> str:
            return "Secret"

        def __eq__(self, other: object) -> bool:
            return self is other

        def __hash__(self) -> int:
            return 1

    assert repr(Secret("open sesame")) == "Secret"
    assert Secret("a") != Secret("a")
    assert hash(Secret("a")) == 1


def test_one_that_holds_itself_can_be_shown() -> None:
    @ours
    class Knot:
        rope: Any = None

    knot = Knot()
    knot.rope = knot
    assert repr(knot).endswith("Knot(rope=...)")


def test_one_without_fields_equals_its_kind() -> None:
    @ours(frozen=True)
    class Empty:
        pass

    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
