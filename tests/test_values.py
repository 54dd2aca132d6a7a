"""Values compare and show as one expects, and what is secret in them is not shown."""

from typing import Any

import pytest

from leyden.values import Struct, hiding, replace


class Berth(Struct, frozen=True, kw_only=True):
    """A place for a ship, and what opens its gate."""

    name: str
    metres: int = 12
    code: str

    __repr__ = hiding("code")


class Knot(Struct):
    """Something that may hold itself."""

    rope: Any = None

    __repr__ = hiding()


EAST = Berth(name="east", code="open sesame")


def test_what_is_hidden_is_not_shown() -> None:
    assert repr(EAST) == f"{EAST}" == "Berth(name='east', metres=12)"
    assert "sesame" not in repr([EAST])


def test_what_is_hidden_is_compared_and_kept() -> None:
    assert Berth(name="east", code="close sesame") != EAST
    assert replace(EAST, name="west") == Berth(name="west", code="open sesame")


def test_a_frozen_one_is_a_key_and_cannot_be_changed() -> None:
    assert {EAST: 1}[Berth(name="east", code="open sesame")] == 1
    with pytest.raises(AttributeError, match="immutable"):
        EAST.name = "west"  # type: ignore[misc]


def test_nothing_is_replaced_that_is_not_there() -> None:
    with pytest.raises(TypeError):
        replace(EAST, nam="west")  # type: ignore[call-arg]


def test_one_that_holds_itself_can_be_shown() -> None:
    knot = Knot()
    knot.rope = knot
    assert repr(knot) == "Knot(rope=...)"
