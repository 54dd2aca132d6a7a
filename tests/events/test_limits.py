"""How much of the room for deliveries one organization gets."""

from contextlib import ExitStack

from leyden.events.limits import Concurrency


def entered(room: Concurrency, stack: ExitStack, who: str, *, count: int) -> int:
    """Enter as often as one may; return how often that is."""
    return sum(stack.enter_context(room.enter(who)) for _ in range(count))


def test_one_alone_gets_half_and_the_next_half_of_what_is_left() -> None:
    room = Concurrency(1_024)
    with ExitStack() as stack:
        assert entered(room, stack, "reef", count=2_000) == 512
        assert entered(room, stack, "shoal", count=2_000) == 256
        assert entered(room, stack, "harbour", count=40) == 40


def test_what_ends_makes_room_again() -> None:
    room = Concurrency(8)
    for _ in range(3):
        with ExitStack() as stack:
            assert entered(room, stack, "reef", count=9) == 4


def test_where_there_is_room_for_one_anybody_may_have_it() -> None:
    room = Concurrency(1)
    with room.enter("reef") as first, room.enter("harbour") as second:
        assert (first, second) == (True, False)
    with room.enter("harbour") as third:
        assert third
