"""Run short commands to their end, with their error output in errors."""

import asyncio
from collections.abc import Mapping
from typing import Final

from leyden.errors import SetupError

_NOT_FOUND: Final = 127  # the exit code of shells


async def call(
    *argv: object, environment: Mapping[str, str], given: bytes | None = None
) -> str:
    """Run a command and return its output; raise SetupError with its error output."""
    words = [str(each) for each in argv]
    code, printed, said = await attempt(*words, environment=environment, given=given)
    if code != 0:
        raise SetupError(f"{' '.join(words)}: {said.strip() or f'exit code {code}'}")
    return printed


async def attempt(
    *argv: object, environment: Mapping[str, str], given: bytes | None = None
) -> tuple[int, str, str]:
    """Run a command and return its exit code, output and error output."""
    nothing, piped = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *(str(each) for each in argv),
            cwd="/",
            env=dict(environment),
            stdin=nothing if given is None else piped,
            stdout=piped,
            stderr=piped,
        )
    except FileNotFoundError:
        return _NOT_FOUND, "", f"{argv[0]} is not installed on this machine"
    try:
        printed, said = await process.communicate(given)
    finally:
        if process.returncode is None:
            process.kill()
    return (
        process.returncode or 0,
        printed.decode(errors="replace"),
        said.decode(errors="replace"),
    )
