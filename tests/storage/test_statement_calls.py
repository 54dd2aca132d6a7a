"""The code gives each statement its parameters by name: read from the sources."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from leyden import storage
from leyden.storage.statements import FOLDER, SqlFile

FOLDER_OF_CODE = Path(storage.__file__).parent
MODULES = sorted(path.stem for path in FOLDER_OF_CODE.glob("*.py"))
TREES = {
    name: ast.parse((FOLDER_OF_CODE / f"{name}.py").read_text()) for name in MODULES
}

# What functions return that make a row of something: the names of its columns.
Rows = Mapping[str, set[str]]


def test_what_is_written_is_used_and_what_is_used_is_written() -> None:
    used = {
        f"{noun}.{name}"
        for tree in TREES.values()
        if (noun := _noun(tree))
        for node in ast.walk(tree)
        if (name := _statement(node))
    }
    nouns = [path.stem for path in FOLDER.glob("*.sql")]
    assert used == {statement.name for noun in nouns for statement in SqlFile(noun)}


@pytest.mark.parametrize("module", MODULES)
def test_each_call_gives_a_statement_its_parameters_by_name(module: str) -> None:
    """And nothing else, unless it gives a whole row, of which it takes a part."""
    tree = TREES[module]
    if (noun := _noun(tree)) is None:
        return
    rows, choices = dict(_rows(tree)), dict(_choices(tree))
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        for name in _statements(call.args[0], choices):
            parameters = getattr(SqlFile(noun), name).parameters
            named, whole = _given(call, rows)
            where = f"{module}.py:{call.lineno} {name}"
            assert named <= parameters, where
            assert parameters <= named | whole, where


def _noun(tree: ast.Module) -> str | None:
    """Return what `sql` is in a module: `sql = SqlFile("orders")`."""
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id="sql")],
                value=ast.Call(args=[ast.Constant(value=str(noun))]),
            ):
                return noun
    return None


def _statement(node: ast.AST) -> str | None:
    """Return the name in `sql.lock_many`."""
    match node:
        case ast.Attribute(value=ast.Name(id="sql"), attr=name):
            return name
    return None


def _choices(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Yield what is chosen from: `_IN_STATUS = {Status.CREATED: sql.in_created}`."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(values=values)):
                yield name, [each for each in map(_statement, values) if each]


def _statements(node: ast.AST, choices: Mapping[str, list[str]]) -> list[str]:
    """Return the names in `sql.lock_many`, or in `_IN_STATUS[status]`."""
    match node:
        case ast.Subscript(value=ast.Name(id=name)):
            return choices.get(name, [])
    found = _statement(node)
    return [found] if found else []


def _rows(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Yield what functions return that make a row, here and where they come from."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)):
                _, _, name = module.partition("leyden.storage.")
                if name in TREES:
                    yield from _rows(TREES[name])
            case ast.FunctionDef(
                name=name, body=[*_, ast.Return(value=ast.Dict(keys))]
            ):
                yield name, {key for key in map(_text, keys) if key}


def _given(call: ast.Call, rows: Rows) -> tuple[set[str], set[str]]:
    """Return the parameters a call names, and those of whole rows that it passes on."""
    named = {each.arg for each in call.keywords if each.arg}
    passed_on = [each.value for each in call.keywords if not each.arg]
    for given in call.args[1:]:
        row = _row(given)
        if isinstance(row, ast.Dict):
            named |= {key for key in map(_text, row.keys) if key}
            passed_on += [
                value
                for key, value in zip(row.keys, row.values, strict=True)
                if key is None
            ]
        else:
            passed_on.append(row)
    return named, {key for each in passed_on for key in rows[_function(each)]}


def _row(given: ast.expr) -> ast.expr:
    """Return the row in `[row]`, or in `[row for each in many]`."""
    match given:
        case ast.List(elts=[row]) | ast.ListComp(elt=row):
            return row
    raise AssertionError(ast.unparse(given))


def _function(node: ast.AST) -> str:
    """Return the name in `row_of(order)`, or in `claim.held`."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Attribute(attr=name):
            return name
    raise AssertionError(ast.unparse(node))


def _text(node: ast.AST | None) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
    return None
