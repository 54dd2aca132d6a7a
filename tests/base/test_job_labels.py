"""What operators read for the kinds of jobs."""

import ast
import inspect
from operator import attrgetter

from leyden.app import loops
from leyden.base.tasks.job_labels import LABELS, label


def kinds() -> set[str]:
    """The kinds that have a queue, as `loops.py` has them."""
    found = set(loops._CHANNEL_STEPS)
    for call in ast.walk(ast.parse(inspect.getsource(loops))):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "Queue":
            (kind,) = (each.value for each in call.keywords if each.arg == "kind")
            if isinstance(kind, ast.Constant):
                found.add(str(kind.value))
            elif (name := ast.unparse(kind)) != "kind":
                found.add(attrgetter(name)(loops))
    return found


def test_every_kind_of_job_has_words_of_its_own() -> None:
    assert set(LABELS) == kinds(), "base/tasks/job_labels.py"
    assert len(set(LABELS.values())) == len(LABELS)


def test_a_kind_of_another_version_is_shown_as_it_is() -> None:
    assert label("polish brass") == "polish brass"
