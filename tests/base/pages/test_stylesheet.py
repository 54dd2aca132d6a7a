"""The stylesheet or a script knows every class that a page uses."""

import re
from pathlib import Path

import leyden.base.pages

ROOT = Path(leyden.base.pages.__file__).parent
ROOMS = ROOT.parents[1]
_CLASS = re.compile(r'class="([^"]*)"')
_JINJA = re.compile(r"{%.*?%}|{{.*?}}")


def classes() -> set[tuple[str, str]]:
    """Return each class with its template; `state-` begins one that is filled in."""
    return {
        (each, str(template.relative_to(ROOMS)))
        for template in ROOMS.rglob("pages/templates/**/*.html")
        for found in _CLASS.findall(_JINJA.sub("", template.read_text()))
        for each in found.split()
    }


def test_every_class_of_a_template_is_known() -> None:
    known = "".join(
        file.read_text()
        for kind in ("css", "js")
        for file in (ROOT / "static").rglob(f"*.{kind}")
        if "vendor" not in file.parts
    )
    unknown = {
        (name, template)
        for name, template in classes()
        if not re.search(
            rf'[."]{name}' + ("" if name[-1] == "-" else r"(?![\w-])"), known
        )
    }
    assert not unknown
