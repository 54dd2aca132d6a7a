"""No test misses a change that mutmut makes, but for those that are accepted.

The whole takes hours and so is rarely run: what could break it meanwhile without being
seen is tried each time, that the copy has all that is imported, and that mutmut runs.
"""

import pytest

from tests.mutants import MODULES, ROOT, Mutated, accepted, collect, survivors

(_TINY,) = (
    each for each in MODULES if each.module == "channels/direct/rules/openings.py"
)


def test_what_is_accepted_says_why_and_is_of_a_line_that_is_there() -> None:
    texts = {
        f"leyden.{each.module.removesuffix('.py').replace('/', '.')}.": (
            ROOT / "src" / "leyden" / each.module
        ).read_text()
        for each in MODULES
    }
    for survivor, reason in accepted().items():
        assert reason, survivor
        (text,) = [
            text
            for module, text in texts.items()
            if survivor.function.startswith(module)
        ]
        assert all(line in text for line in survivor.before.splitlines()), survivor


@pytest.mark.parametrize("mutated", MODULES, ids=lambda each: each.module)
def test_each_module_and_its_tests_are_there(mutated: Mutated) -> None:
    assert (ROOT / "src" / "leyden" / mutated.module).is_file()
    assert all((ROOT / path).is_file() for path in mutated.tests)


@pytest.mark.long
def test_the_copy_has_all_that_its_tests_import() -> None:
    assert collect({path for each in MODULES for path in each.tests}) == ""


def test_the_changes_of_a_tiny_module_are_all_noticed() -> None:
    assert survivors(_TINY) == (6, [])


@pytest.mark.long
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("mutated", MODULES, ids=lambda each: each.module)
def test_no_change_of_a_line_goes_unnoticed(mutated: Mutated) -> None:
    count, lived = survivors(mutated)
    assert count > 0
    assert [each for each in lived if each not in accepted()] == []
