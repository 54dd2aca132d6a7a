"""Makes `leyden/client/aio.py`: the library's classes again, with `await`.

A class of the library becomes one whose name begins with Async. A method becomes a
coroutine if it calls one; what it calls is found by the class of `self` and of its
attributes. All else, such as errors and values, is the library's own.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import leyden.client

FOLDER = Path(leyden.client.__file__).parent
FILE = FOLDER / "aio.py"
_MODULES = (
    *("calls", "waiting", "nodes", "backups", "webhooks", "flow", "events"),
    *("subscriptions", "wrapped_invoices", "__init__", "operator"),
)
_CLASSES = (
    *("Wire", "Calls", "Nodes", "Backups", "Webhooks", "Flow", "Events"),
    *("Subscriptions", "WrappedInvoices", "Client", "Operator"),
)
_ATTRIBUTES = {
    "_wire": "Wire",
    "_calls": "Calls",
    "wrapped_invoices": "WrappedInvoices",
    **{each.lower(): each for each in _CLASSES},
}
_ENTERING = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
_AWAITED = {("Wire", "request"), ("Wire", "close"), ("", "poll"), ("", "read")}
_IN_A_THREAD = {"_where"}  # it looks a name up
_HEAD = '''"""The Python client library for programs with an event loop.

    from leyden.client.aio import AsyncClient

    async with AsyncClient("https://api.example.org", key) as leyden:
        for node in await leyden.nodes.list():
            print(node.node_name, node.status)

Everything is as in `leyden.client`, from which tests/client/asynchronous.py makes this
module. Several tasks may use a client at once.
"""

# ruff: noqa: A002, E501, SLF001
import asyncio
from collections.abc import AsyncIterator, Awaitable
from leyden.client.async_wire import AsyncWire
'''


def written() -> str:
    """Return the module as it should be."""
    trees = {name: ast.parse((FOLDER / f"{name}.py").read_text()) for name in _MODULES}
    coroutines = _coroutines(trees)
    imports: list[ast.stmt] = []
    made: list[ast.stmt] = []
    for name, tree in trees.items():
        made += _Translated(name, tree, coroutines).made()
        imports += [
            each
            for each in tree.body
            if isinstance(each, ast.Import | ast.ImportFrom) and not _is_ours(each)
        ]
    modules = ", ".join(sorted({*_MODULES} - {"__init__"}))
    ours = f"from leyden import client\nfrom leyden.client import {modules}"
    body = [*imports, *ast.parse(ours).body, *made]
    module = ast.fix_missing_locations(ast.Module(body, type_ignores=[]))
    return _tidied(_HEAD + ast.unparse(module))


def _tidied(text: str) -> str:
    for command in (["check", "--select=I,F401,UP034", "--fix-only"], ["format"]):
        words = ["-m", "ruff", *command, f"--stdin-filename={FILE}", "-"]
        text = subprocess.run(
            [sys.executable, *words],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text


def _is_ours(each: ast.Import | ast.ImportFrom) -> bool:
    """Return whether it imports what is translated."""
    package, _, name = str(getattr(each, "module", "")).rpartition(".")
    return package == "leyden.client" and name in _MODULES


def _functions(tree: ast.AST) -> Iterator[tuple[str, ast.FunctionDef]]:
    for each in ast.iter_child_nodes(tree):
        if isinstance(each, ast.FunctionDef):
            yield "", each
        if isinstance(each, ast.ClassDef) and each.name in _CLASSES:
            yield from (
                (each.name, f) for f in each.body if isinstance(f, ast.FunctionDef)
            )


def _called(of: str, call: ast.Call) -> tuple[str, str]:
    """Return the class, or "", and the name of what is called in a method of `of`."""
    match call.func:
        case ast.Name(name):
            return "", name
        case ast.Attribute(ast.Name("self"), "_organization"):
            return "Client", "organization"
        case ast.Attribute(ast.Name("self"), name):
            return of, name
        case ast.Attribute(ast.Attribute(ast.Name("self"), attribute), name):
            return _ATTRIBUTES.get(attribute, "?"), name
        case ast.Attribute(ast.Name("time"), "sleep"):
            return "", "poll"
    return "?", ""


def _coroutines(trees: dict[str, ast.Module]) -> set[tuple[str, str]]:
    """Return the methods that have to await something, and the generators as well."""
    found = {*_AWAITED}
    size = 0
    while size < len(found):
        size = len(found)
        for tree in trees.values():
            for of, function in _functions(tree):
                calls = (
                    each for each in ast.walk(function) if isinstance(each, ast.Call)
                )
                if any(_called(of, each) in found for each in calls):
                    found.add((of, function.name))
    return found


def _yields(function: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(function)
    )


class _Translated(ast.NodeTransformer):
    """One module's classes, translated."""

    def __init__(
        self, module: str, tree: ast.Module, coroutines: set[tuple[str, str]]
    ) -> None:
        self._tree = tree
        self._coroutines = coroutines
        self._class = ""
        self._generators = {
            (of, each.name) for of, each in _functions(tree) if _yields(each)
        }
        own = "client" if module == "__init__" else module
        self._homes = {name: own for each in tree.body for name in _names(each)}
        for each in tree.body:
            if isinstance(each, ast.ImportFrom) and _is_ours(each):
                home = str(each.module).rpartition(".")[2]
                self._homes |= {name.name: home for name in each.names}

    def made(self) -> list[ast.stmt]:
        """Return the translated definitions."""
        return [
            self.visit(each)
            for each in self._tree.body
            if isinstance(each, ast.ClassDef | ast.FunctionDef)
            and (each.name in {*_CLASSES, "poll"})
        ]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._class = node.name
        node.body = [each for each in node.body if not _is_former_name(each)]
        self.generic_visit(node)
        node.name = f"Async{node.name}"
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        called = (self._class, node.name)
        is_coroutine = called in self._coroutines or node.name in _ENTERING
        self.generic_visit(node)
        if not is_coroutine:
            return node
        name = _ENTERING.get(node.name, node.name)
        fields = {field: getattr(node, field) for field in node._fields}
        return ast.AsyncFunctionDef(**{**fields, "name": name})

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Leave it as it is: what it returns is awaited."""
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = _called(self._class, node)
        self.generic_visit(node)
        if called[1] in _IN_A_THREAD:
            threaded = ast.parse("asyncio.to_thread", mode="eval").body
            return ast.Await(ast.Call(threaded, [node.func, *node.args], node.keywords))
        if called in self._coroutines and called not in self._generators:
            return ast.Await(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node) == "time.sleep":
            return ast.parse("asyncio.sleep", mode="eval").body
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.value, ast.YieldFrom):
            return node
        each = ast.parse("for each in _:\n    yield each").body[0]
        assert isinstance(each, ast.For)
        each.iter = node.value.value
        return each

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Translate `Callable[[], X]`, and what a generator returns."""
        self.generic_visit(node)
        match node:
            case ast.Subscript(ast.Name("Callable"), ast.Tuple([ast.List([]), what])):
                inner = ast.Subscript(ast.Name("Awaitable"), what)
                node.slice = ast.Tuple([ast.List([]), inner])
            case ast.Subscript(ast.Name("Iterator") as name, _):
                name.id = "AsyncIterator"
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in _CLASSES:
            return ast.Name(f"Async{node.id}")
        home = self._homes.get(node.id)
        if home is None or node.id == "poll":
            return node
        return ast.Attribute(ast.Name(home), node.id)


def _names(each: ast.stmt) -> list[str]:
    match each:
        case ast.FunctionDef(name) | ast.ClassDef(name):
            return [name]
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
            return [name]
    return []


def _is_former_name(each: ast.stmt) -> bool:
    """Return whether a line of a class gives a method a second name."""
    return isinstance(each, ast.Assign) and isinstance(each.value, ast.Name | ast.Tuple)
