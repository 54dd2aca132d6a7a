"""Packages of npm, pinned in a folder of tests by a lock with checksums."""

import asyncio
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from leyden.base.daemons import build
from tests.programs import require


async def installed(pinned: Path) -> Path:
    """Return the `node_modules` of what is pinned, kept in the cache; or skip."""
    for program in ("node", "npm"):
        require(program)
    files = [pinned / name for name in ("package.json", "package-lock.json")]
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in files))
    cache = build.default_cache(os.environ)
    path = cache / f"{pinned.name}-{digest.hexdigest()[:12]}"
    if not path.exists():
        making = path.with_name(f"{path.name}.{os.getpid()}")
        making.mkdir(parents=True)
        for each in files:
            shutil.copy(each, making)
        process = await asyncio.create_subprocess_exec(
            "npm", "ci", "--ignore-scripts", cwd=making, stdout=asyncio.subprocess.PIPE
        )
        await process.communicate()
        if process.returncode:
            shutil.rmtree(making)
            pytest.skip(f"npm could not install {pinned.name}: is there a network?")
        making.rename(path)
    return path / "node_modules"
