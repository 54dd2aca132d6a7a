"""The licences of the Go modules that programs are made of."""

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.errors import SetupError
from leyden_workshop.compiler.compiler import build_environment

_MODULE: Final = (
    "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"
)
_NAMES: Final = ("licen", "copying", "notice")
_RULE: Final = f"\n{'-' * 78}\n"
_HEAD: Final = "The programs in this package are made of these modules.\n"


def collected(
    programs: Iterable[tuple[ToolSet, Program]],
    *,
    go: Path,
    environment: Mapping[str, str],
) -> str:
    """Return the licences of all modules in the programs, each text once.

    Raise SetupError for a module without one, which nobody may pass on.
    """
    by_set: dict[str, tuple[ToolSet, list[str]]] = {}
    for tools, program in programs:
        by_set.setdefault(tools.name, (tools, []))[1].append(program.package)
    known = build_environment(go, environment)
    root = Path(_output([go, "env", "GOROOT"], Path("/"), known).strip())
    folders = {"Go, and its standard library": root}
    for tools, packages in by_set.values():
        listed = ("list", "-deps", "-tags", ",".join(tools.tags), "-f", _MODULE)
        for line in _output([go, *listed, *packages], tools.folder, known).splitlines():
            name, _, folder = line.partition("\t")
            if name:
                folders[name] = Path(folder)
    of_text: dict[str, list[str]] = {}
    for name, each in sorted(folders.items()):
        texts = [*_texts(each)]
        if not texts:
            raise SetupError(f"{name}: {each} has no licence")
        for text in texts:
            of_text.setdefault(text, []).append(name)
    return _HEAD + "".join(
        f"{_RULE}{chr(10).join(names)}\n\n{text}\n" for text, names in of_text.items()
    )


def _texts(folder: Path) -> Iterator[str]:
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.name.lower().startswith(_NAMES):
            yield file.read_text(errors="replace").strip()


def _output(
    command: list[str | Path], folder: Path, environment: Mapping[str, str]
) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
        raise SetupError(f"licences: {said}")
    return done.stdout
