"""The guides for customers and operators, which the package brings along."""

import re
from importlib.resources import files

from leyden.errors import NotFound

CUSTOMERS, OPERATORS = "customers", "operators"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,80}")
_DOCS = files("leyden") / "docs"


def find(name: str) -> str:
    """Return where a guide is, such as `customers/api` for `api`.

    Raise NotFound for any other name: it may come from a URL.
    """
    for folder in (CUSTOMERS, OPERATORS):
        if _NAME.fullmatch(name) and (_DOCS / folder / f"{name}.md").is_file():
            return f"{folder}/{name}"
    raise NotFound


def read(name: str) -> str:
    """Return the Markdown of a guide, or raise NotFound."""
    return (_DOCS / f"{find(name)}.md").read_text(encoding="utf-8")


def chapters(text: str, level: int) -> dict[str, str]:
    """Return the text below each heading of a level, up to the next of that level.

    What stands in code blocks is never a heading.
    """
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    is_code = False
    for line in text.splitlines(keepends=True):
        is_code ^= line.startswith("```")
        hashes, _, heading = line.partition(" ")
        is_heading = not is_code and set(hashes) == {"#"} and len(hashes) <= level
        if not is_heading:
            lines.append(line)
        elif len(hashes) == level:
            lines = found.setdefault(heading.strip(), [])
        else:
            lines = []
    return {heading: "".join(below).strip() for heading, below in found.items()}
