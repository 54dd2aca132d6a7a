"""Programs of Rust that tests run, pinned in a folder by a lock with checksums."""

import asyncio
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from leyden.base.daemons import build
from tests.programs import require


async def built(pinned: Path, program: str) -> Path:
    """Return the program of a folder, kept in the cache; or skip."""
    cargo = require("cargo")
    files = sorted(each for each in pinned.rglob("*") if each.is_file())
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in files))
    cache = build.default_cache(os.environ)
    path = cache / f"{pinned.name}-{digest.hexdigest()[:12]}"
    if not path.exists():
        # What was compiled stays for the next attempt: it is a quarter of an hour.
        target = cache / f"{pinned.name}.target"
        process = await asyncio.create_subprocess_exec(
            *(cargo, "build", "--locked", "--quiet", "--target-dir", str(target)),
            cwd=pinned,
            stdout=asyncio.subprocess.PIPE,
        )
        await process.communicate()
        if process.returncode:
            pytest.skip(f"cargo could not build {pinned.name}: is there a network?")
        making = path.with_name(f"{path.name}.{os.getpid()}")
        making.mkdir(parents=True)
        shutil.copy(target / "debug" / program, making)
        making.rename(path)
        shutil.rmtree(target)
    return path / program
