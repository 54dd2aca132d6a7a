"""How long a build still takes, and what corrects the estimate."""

from pathlib import Path

import pytest

from leyden.base.daemons.catalogue import ToolSet
from leyden_workshop.compiler.catalogue import SETS
from leyden_workshop.compiler.estimates import Finished, in_words, pace, remaining_s


def a_set(seconds: int) -> ToolSet:
    return ToolSet(name="lamp", programs=(), folder=Path("lamp"), seconds=seconds)


def test_every_set_of_the_catalogue_says_how_long_it_takes() -> None:
    assert {tools.name: tools.seconds for tools in SETS}["lnd-0.20.2"] == 330
    assert all(tools.seconds > 0 for tools in SETS)


@pytest.mark.parametrize(
    ("processors", "times"), [(1, 2), (2, 1), (4, 0.5), (8, 0.25), (64, 0.25)]
)
def test_estimate_follows_the_processors_until_a_set_is_finished(
    processors: int, times: float
) -> None:
    assert pace([], processors=processors) == times
    assert remaining_s([a_set(100)], processors=processors) == 100 * times


def test_estimate_is_corrected_by_what_finished_sets_took() -> None:
    finished = [Finished(a_set(100), 250), Finished(a_set(10), 25)]
    assert pace(finished, processors=64) == 2.5
    left = [a_set(40), a_set(20)]
    assert remaining_s(left, finished, processors=64) == 150


def test_estimate_shrinks_while_a_set_is_built_and_never_below_the_others() -> None:
    left = [a_set(100), a_set(20)]
    assert remaining_s(left, processors=2, begun_s=30) == 90
    assert remaining_s(left, processors=2, begun_s=1000) == 20
    assert remaining_s([], processors=2) == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "less than a minute"),
        (29, "less than a minute"),
        (45, "about a minute"),
        (330, "about 6 minutes"),
    ],
)
def test_estimate_reads_as_a_person_would_say_it(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
