"""Downloading and unpacking release archives.

Only an archive that is as pinned is unpacked. If there is none, the sources are taken;
anything else that comes in its place ends the command, because something on the way, or
the mirror, isn't what it should be.
"""

import asyncio
import gzip
import hashlib
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

import aiohttp

from leyden.base.daemons import archives
from leyden.base.daemons.archives import Archive
from leyden.base.daemons.build import program_path
from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.base.daemons.locks import locked, unwritable
from leyden.base.daemons.progress import BuildState, BuildStep, Progress
from leyden.base.files import draft
from leyden.errors import SetupError

Wanted = tuple[ToolSet, Program]

_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=60)
_MAX_REDIRECTS: Final = 5
_MAX_BYTES: Final = 1 << 29  # some ten times the largest of them
_CHUNK: Final = 1 << 16
_INSTEAD: Final = (
    f"Nothing of it was used. To build from source instead, set {archives.URL} to an "
    "empty text"
)


async def fetch(
    wanted: Sequence[Wanted],
    *,
    cache: Path,
    environment: Mapping[str, str],
    progress: Progress,
) -> list[Wanted]:
    """Get the programs that have a pinned archive; return the others.

    Raise SetupError if something else comes in the place of an archive.
    """
    by_archive: dict[Archive, list[Wanted]] = {}
    for each in wanted:
        if archive := archives.find(each[1], environment):
            by_archive.setdefault(archive, []).append(each)
    fetched: list[Wanted] = []
    try:
        for archive, programs in by_archive.items():
            if await _fetch(archive, programs, cache, progress):
                fetched += programs
    except OSError as error:
        raise unwritable(cache, error) from None
    return [each for each in wanted if each not in fetched]


async def _fetch(
    archive: Archive, wanted: Sequence[Wanted], cache: Path, progress: Progress
) -> bool:
    """Get the programs of one archive; return whether there is one."""

    def tell(state: BuildState, why: str = "") -> None:
        for _, program in wanted:
            progress(BuildStep(program=str(program), state=state, why=why))

    folder = cache / "daemons" / wanted[0][0].key  # they are of one set
    # The compiler's lock: it gets the same programs.
    async with locked(
        folder.with_name(f"{folder.name}.lock"),
        waiting=lambda: tell(BuildState.WAITING),
    ):
        if all(program_path(cache, *each).exists() for each in wanted):
            return True  # another process got them meanwhile
        tell(BuildState.DOWNLOADING)
        began = time.monotonic()
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            if why := await _download(archive, file):
                tell(BuildState.ABSENT, why)
                return False
            places = {each[1].name: program_path(cache, *each) for each in wanted}
            for each in wanted:
                mark = archives.mark(cache, *each)
                mark.parent.mkdir(exist_ok=True)
                mark.touch()
            await asyncio.to_thread(_unpack, archive, file, places)
        seconds = time.monotonic() - began
        for _, program in wanted:
            size = places[program.name].stat().st_size
            state = BuildState.DOWNLOADED
            progress(
                BuildStep(program=str(program), state=state, seconds=seconds, size=size)
            )
    return True


async def _download(archive: Archive, file: BinaryIO) -> str:
    """Write an archive to a file; return why there is none, or ""."""
    digest, size = hashlib.sha256(), 0
    try:
        async with (
            aiohttp.ClientSession(
                trust_env=True, timeout=_TIMEOUT, auto_decompress=False
            ) as session,
            session.get(archive.url, max_redirects=_MAX_REDIRECTS) as answer,
        ):
            if answer.status != HTTPStatus.OK:
                return f"{archive.url}: HTTP {answer.status}"
            if answer.content_type.endswith("html"):
                raise _refused(
                    archive,
                    "a web page came in its place, as from a proxy or a login page. "
                    "Open the address in a browser, or set HTTPS_PROXY",
                )
            async for chunk in answer.content.iter_chunked(_CHUNK):
                size += len(chunk)
                if size > _MAX_BYTES:
                    raise _refused(archive, "it doesn't end")
                digest.update(chunk)
                file.write(chunk)
    except aiohttp.TooManyRedirects:
        raise _refused(
            archive, f"it redirects in circles. Check {archives.URL}"
        ) from None
    except (aiohttp.ClientError, TimeoutError) as error:
        if size:
            why = f"it was cut after {size} bytes. Run this again"
            raise _refused(archive, why) from None
        return f"{archive.url}: {str(error) or 'no answer'}"
    if digest.hexdigest() != archive.sha256:
        raise _refused(
            archive,
            f"its SHA-256 is {digest.hexdigest()}, and not {archive.sha256} as pinned. "
            "Something on the way, or the mirror, changes files: don't trust it",
        )
    return ""


def _unpack(archive: Archive, file: BinaryIO, places: Mapping[str, Path]) -> None:
    """Write the programs of an archive to their places, or none of them."""
    file.seek(0)
    try:
        with tarfile.open(fileobj=file, mode="r:gz") as content:
            members = content.getmembers()
            if any(map(_leads_outside, members)):
                raise _refused(archive, "it has files that lead out of its folder")
            found = {each.name: each for each in members if each.isreg()}
            for name in places:
                member = found.get(f"{archive.name}/{name}")
                if member is None or member.size > _MAX_BYTES:
                    raise _refused(archive, f"it has no program {name}")
            for name, path in places.items():
                path.parent.mkdir(exist_ok=True)
                source = content.extractfile(found[f"{archive.name}/{name}"])
                assert source is not None  # noqa: S101  it is a regular file
                with source, draft(path, mode=0o755) as target:
                    shutil.copyfileobj(source, target)
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _refused(archive, f"it is no archive ({error})") from None


def _leads_outside(member: tarfile.TarInfo) -> bool:
    path = PurePosixPath(member.name)
    return path.is_absolute() or ".." in path.parts


def _refused(archive: Archive, why: str) -> SetupError:
    return SetupError(f"{archive.url}: {why}. {_INSTEAD}")
