"""Running the commands that build: in the background, ended with us, told apart."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from leyden.daemons.troubles import explain


async def run(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    doing: str,
    log: Path,
    cwd: Path = Path("/"),
    keep: Sequence[int] = (),
) -> None:
    """Run a command to its end, its output in the log; explain it if it fails.

    Cancelled, it ends the command and all that the command started. `keep` are open
    files that it inherits.
    """
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            pass_fds=tuple(keep),
            start_new_session=True,
        )
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                await process.wait()
    if code != 0:
        raise explain(log, doing=doing)


async def output(argv: Sequence[str], *, environment: Mapping[str, str]) -> str:
    """Run a command that only tells something, and give what it told on stdout."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd="/",
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    told, _ = await process.communicate()
    return told.decode(errors="replace")
