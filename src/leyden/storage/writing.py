"""Writing down what SQLAlchemy makes of our statements: `sql/` becomes `written/`.

    ./leyden check --write      (or: python -m leyden.storage.writing --write)

A noun's file in `sql/` gives the file of the same name in `written/`, with each of its
statements in the words of both databases. `./leyden check` refuses what is not as it
would be written now.
"""

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sqlalchemy import ClauseElement
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Compiled, Dialect
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.types import NullType

from leyden.storage import schema, sql
from leyden.storage.statements import Value

FOLDER = Path(__file__).parent / "written"

_SCHEMA = '''\
"""All statements as the databases read them: made by `leyden check --write`."""

# The newest version of the schema.
SCHEMA = {!r}
'''
_SQLITE: Dialect = SQLiteDialect_pysqlite(paramstyle="named")
_POSTGRESQL: Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]


def stale(folder: Path = FOLDER) -> list[str]:
    """Name the files that are not as they would be written now."""
    wanted = dict(_files())
    found = {path.name: path.read_text() for path in folder.glob("*.py")}
    return sorted(
        name for name in wanted | found if wanted.get(name) != found.get(name)
    )


def write(folder: Path = FOLDER) -> list[str]:
    """Write them all; give the names of those that have changed."""
    changed, wanted = stale(folder), dict(_files())
    folder.mkdir(exist_ok=True)
    for name in changed:
        if name in wanted:
            (folder / name).write_text(wanted[name])
        else:
            (folder / name).unlink()
    return changed


def _files() -> Iterator[tuple[str, str]]:
    yield "__init__.py", _SCHEMA.format(schema.newest())
    for module in pkgutil.iter_modules(sql.__path__):
        noun = importlib.import_module(f"{sql.__name__}.{module.name}")
        constants = list(_constants(vars(noun)))
        if constants:
            yield f"{module.name}.py", "\n".join([*_head(module.name), *constants, ""])


def _head(noun: str) -> Iterator[str]:
    yield f'"""Made of sql/{noun}.py by `leyden check --write`."""'
    yield ""
    yield "from leyden.storage.statements import Statement"
    yield ""


def _constants(names: Mapping[str, object]) -> Iterator[str]:
    for name, value in names.items():
        if not name.isupper():
            continue
        if isinstance(value, ClauseElement):
            yield f"{name} = {_statement(value)}"
        elif isinstance(value, dict):
            yield f"{name} = {{"
            yield from (f"{str(key)!r}: {_statement(of)}," for key, of in value.items())
            yield "}"


def _statement(written: ClauseElement) -> str:
    sqlite, postgresql = _texts(written, _SQLITE), _texts(written, _POSTGRESQL)
    constants = {**_known(written, _POSTGRESQL), **_known(written, _SQLITE)}
    lines = ["Statement(", f"    sqlite={sqlite},", f"    postgresql={postgresql},"]
    lines += [f"    constants={constants!r},"] if constants else []
    if types := _types(written):
        lines.append(f"    types={types!r},")
    return "\n".join([*lines, ")"])


def _texts(written: ClauseElement, dialect: Dialect) -> str:
    lines = [line.rstrip() for line in str(_compiled(written, dialect)).splitlines()]
    text = "\n".join(lines)
    if '"""' in text or "\\" in text:
        raise ValueError(f"cannot be quoted: {text}")
    return f'"""\\\n{text}"""' if len(lines) > 1 else repr(text)


def _compiled(written: ClauseElement, dialect: Dialect) -> Compiled:
    return written.compile(dialect=dialect)


def _known(written: ClauseElement, dialect: Dialect) -> dict[str, Value]:
    binds = _compiled(written, dialect).binds  # type: ignore[attr-defined]
    return {
        name: bind.value
        for name, bind in binds.items()
        # Each is there under its first name, too, which nobody uses.
        if not bind.required and name.isidentifier()
    }


def _types(written: ClauseElement) -> dict[str, str]:
    """Give PostgreSQL's types of what is to be given, where many rows may be."""
    if not isinstance(written, UpdateBase):
        return {}
    binds = _compiled(written, _POSTGRESQL).binds  # type: ignore[attr-defined]
    types = {name: bind.type for name, bind in binds.items() if bind.required}
    if any(isinstance(type_, NullType) for type_ in types.values()):
        return {}
    return {name: type_.compile(_POSTGRESQL) for name, type_ in types.items()}


def main(*words: str) -> int:
    """Write them, or name those that are not as they should be."""
    if words == ("--write",):
        print(*write())  # noqa: T201  this is a command
        return 0
    if names := stale():
        print(*names, "are not what sql/ says; run `./leyden check --write`")  # noqa: T201
    return bool(names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
