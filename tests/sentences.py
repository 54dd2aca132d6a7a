"""Every sentence that users see, each once: pages, scripts, commands, errors, docs.

    python -m tests.sentences [WORD]

prints them with the file that has them first (those with the word, if one is given).
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "leyden"
WORKSHOP = ROOT / "workshop" / "src" / "leyden_workshop"
# What people read comes from these; the others speak to logs and databases.
_SPEAKING = (
    *("api", "app", "certificates", "ciphertext", "cli", "client", "domain"),
    *("errors.py", "lnd", "manual", "market", "payments", "processes", "runtimes"),
    *("schemas", "services", "settings", "trust", "web"),
)
_READ = {"alt", "aria-label", "data-of", "placeholder", "title"}
_JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)
_JINJA_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_CODE = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
_VALUE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_JS = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_COMMENT = re.compile(r"^\s*(//|\*|/\*).*$", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


class Sentence(NamedTuple):
    """What is said, and where."""

    file: str
    text: str


@cache
def every() -> list[Sentence]:
    """List all sentences; one that is said twice is named where it is said first."""
    found: dict[str, Sentence] = {}
    for each in (*pages(), *scripts(), *programs(), *docs()):
        if re.search(r"[a-z]{2}", each.text):
            found.setdefault(each.text, each)
    return list(found.values())


def pages() -> Iterator[Sentence]:
    """Yield what the templates of the dashboard and of the manual say."""
    for place in ("web", "manual"):
        for path in sorted((SOURCES / place / "templates").rglob("*.html")):
            text = path.read_text()
            parser = _Text()
            parser.feed(_VALUE.sub("{}", _JINJA.sub(" ", text)))
            for said in (*parser.found, *_arguments(text)):
                yield Sentence(_name(path), said)


def _arguments(template: str) -> Iterator[str]:
    """Yield the texts that a template hands to what draws them: labels, hints."""
    for code in _CODE.findall(_JINJA_COMMENT.sub("", template)):
        for found in _JS.finditer(code):
            if _is_said(text := _plain(found[1] or "")):
                yield text


def scripts() -> Iterator[Sentence]:
    """Yield what the dashboard's scripts say."""
    for path in sorted((SOURCES / "web" / "static").rglob("*.js")):
        if "vendor" in path.parts:
            continue
        for found in _JS.finditer(_COMMENT.sub("", path.read_text())):
            text = _plain(re.sub(r"\$\{.*?\}", "{}", found[1] or found[2] or ""))
            if _is_said(text):
                yield Sentence(_name(path), text)


def programs() -> Iterator[Sentence]:
    """Yield what commands, their help, and the API's errors say."""
    ours = (WORKSHOP / each for each in ("cli", "devnet"))
    for place in (*(SOURCES / name for name in _SPEAKING), *ours):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            tree = ast.parse(path.read_text())
            for text in (*_helps(tree), *_literals(tree)):
                yield Sentence(_name(path), _plain(text))


def docs() -> Iterator[Sentence]:
    """Yield the paragraphs, headings and cells of the documentation."""
    paths = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for path in paths:
        text = _BLOCK.sub("", path.read_text())
        for part in re.split(r"\n\s*\n|\n(?=[-*#|] ?)| \| ", text):
            if plain := _plain(part.strip("|-#* \n")):
                yield Sentence(_name(path), plain)


class _Text(HTMLParser):
    """Collects the texts between tags, and those of attributes that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for name, value in attrs:
            if name in _READ and value:
                self.handle_data(value)

    def handle_data(self, data: str) -> None:
        if _plain(data).strip("{} "):
            self.found.append(_plain(data))


def _helps(tree: ast.Module) -> Iterator[str]:
    """Yield the help of commands, and the messages that errors have by default."""
    for node in ast.walk(tree):
        is_command = isinstance(node, ast.FunctionDef) and any(
            "command" in ast.unparse(each) or "group" in ast.unparse(each)
            for each in node.decorator_list
        )
        is_error = isinstance(node, ast.ClassDef) and "status" in ast.unparse(node)
        if is_command or is_error:
            yield from re.split(r"\n\s*\n|\\b", ast.get_docstring(node) or "")  # type: ignore[arg-type]


def _literals(tree: ast.Module) -> Iterator[str]:
    """Yield the texts that a module has in it, but for what it logs."""
    silent = {
        id(inner)
        for node in ast.walk(tree)
        if _is_silent(node)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        if isinstance(node, ast.JoinedStr):
            silent |= {id(inner) for inner in ast.walk(node)}
            text = "".join(
                str(each.value) if isinstance(each, ast.Constant) else "{}"
                for each in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if _is_said(text):
            yield text


def _is_silent(node: ast.AST) -> bool:
    """Return whether this is for no reader: a docstring, a log, a pattern."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Call(func=func):
            called = ast.unparse(func)
            return called.startswith(("log.", "re.", "logging.")) or called in {
                *("SqlFile", "Statement", "Histogram", "Gauge", "Counter", "getattr"),
            }
    return False


def _is_said(text: str) -> bool:
    return bool(re.search(r"[A-Za-z]{2,}[,;:.]? [A-Za-z{(`'\"]", text)) or bool(
        re.fullmatch(r"[A-Z][a-z]{2,}\.?", text)
    )


def _plain(text: str) -> str:
    return " ".join(text.split())


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    wanted = " ".join(sys.argv[1:]).lower()
    for sentence in every():
        if wanted in sentence.text.lower():
            print(f"{sentence.file}: {sentence.text}")  # noqa: T201
