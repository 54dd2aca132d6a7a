"""Running build commands as subprocesses that end with this process."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from leyden_workshop.compiler.failures import explain


async def run(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    doing: str,
    log: Path,
    cwd: Path = Path("/"),
    keep: Sequence[int] = (),
) -> None:
    """Run a command with its output in `log`; explain a failure.

    If the command fails, raise SetupError with the reason. On cancellation
    the command and all its children are ended. `keep` are open files that
    the command inherits.
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
