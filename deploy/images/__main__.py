"""Build images: `python -m deploy.images FOLDER [NAME]...`.

FOLDER/platform/          what `docker build` takes: a Dockerfile, and what it adds
FOLDER/platform.tar       the same as an archive, for `docker load` or a registry
FOLDER/platform.cdx.json  what is in it, as CycloneDX
"""

import asyncio
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from deploy.images import contexts, debian, dockerfiles, sbom
from deploy.images.contexts import Content

from leyden.cli.building import building
from leyden.daemons.build import default_cache
from leyden.daemons.progress import Progress
from leyden.errors import SetupError
from leyden_workshop.devcluster import images

_OF_PYTHON: Final = ("platform", "envoy", "machine")
_LNDS: Final = {f"lnd-{each}": each for each in contexts.lnd_versions()}
NAMES: Final = (*_OF_PYTHON, "companion", *_LNDS)


async def build(folder: Path, names: list[str], progress: Progress) -> None:
    """Build the named images into a folder."""
    cache = default_cache(os.environ)
    with tempfile.TemporaryDirectory() as temporary:
        sources = None
        if set(names) & set(_OF_PYTHON):
            sources = await contexts.prepared(Path(temporary), cache, progress)
        for name in names:
            if name in _LNDS:
                made = await contexts.of_lnd(cache, _LNDS[name], progress)
            elif sources is None or name == "companion":
                made = await contexts.of_companion(cache, progress)
            elif name == "platform":
                made = contexts.of_platform(sources)
            elif name == "envoy":
                made = contexts.of_envoy(sources)
            else:
                made = await contexts.of_machine(sources, progress)
            _write(folder, name, made)


def _write(folder: Path, name: str, made: Content) -> None:
    kind = "lnd" if name in _LNDS else name
    context = folder / name
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir()
    shutil.copy(debian.HERE / kind / "Dockerfile", context)
    for file, content in made.layers.items():
        (context / file).write_bytes(content)
    tag = f"v{_LNDS[name]}" if name in _LNDS else "1"
    image = f"localhost/leyden/{kind}:{tag}"
    archive = folder / f"{name}.tar"
    archive.write_bytes(dockerfiles.build(context, image, machine=platform.machine()))
    (folder / f"{name}.cdx.json").write_bytes(sbom.document(image, made.parts))
    print(images.by_digest(archive), f"{archive.stat().st_size / 1e6:.0f} MB")  # noqa: T201


def main() -> None:
    """Build what the command line names: everything, unless it names something."""
    match sys.argv[1:]:
        case [folder, *names] if set(names) <= set(NAMES):
            Path(folder).mkdir(parents=True, exist_ok=True)
            with building() as progress:
                asyncio.run(build(Path(folder), names or [*NAMES], progress))
        case _:
            raise SystemExit(f"python -m deploy.images FOLDER [{'|'.join(NAMES)}]...")


if __name__ == "__main__":
    try:
        main()
    except SetupError as error:
        raise SystemExit(f"images: {error.message}") from None
