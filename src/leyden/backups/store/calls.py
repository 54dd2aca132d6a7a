"""Calls of restic and age, with secrets that only the called program can read.

A secret is in no argument, no environment and no file: the program inherits an open
file that exists in memory alone, and is told its name, `/dev/fd/NUMBER`.
"""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from leyden.base.processes.shell import with_death_signal
from leyden.errors import SetupError
from leyden.values import Struct

# What a program inherits of our environment, which holds secrets.
_HARMLESS: Final = (
    *("HOME", "LANG", "PATH", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "TMPDIR", "TZ"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy"),
    *("no_proxy", "AWS_DEFAULT_REGION", "AWS_REGION"),
)
_MAX_SAID: Final = 600
_MAX_READ: Final = 1 << 20
# What restic says beside what is wrong: its progress, and advice for its own users.
_NOISE: Final = re.compile(
    r"$|\[\d|\d+ / |using temporary cache|created new cache|create exclusive lock"
    r"|load indexes|check |read all data|no errors|The repository |You must run"
    r"|These damaged|This can be done|Please |Damaged pack files can|restic repair"
    r"|Fatal: repository contains errors"
)


class Failed(SetupError):
    """A program of the backup failed."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code  # the program's exit code; -1 is none, it was too slow


class Secret(Struct, frozen=True):
    """A file in memory that a called program inherits."""

    file: int

    @property
    def path(self) -> str:
        """The name under which the called program opens it."""
        return f"/dev/fd/{self.file}"


@contextlib.contextmanager
def secret(content: str) -> Iterator[Secret]:
    """Hold a secret in memory for the programs that are called in the block."""
    file = os.memfd_create("secret")
    try:
        os.write(file, content.encode())
        yield Secret(file)
    finally:
        os.close(file)


async def call(
    argv: Sequence[str | Path],
    *,
    doing: str,
    deadline_s: float,
    secrets: Sequence[Secret] = (),
    given: bytes | None = None,
    env: Mapping[str, str] | None = None,
    prints_secrets: bool = False,
) -> bytes:
    """Run a program to its end and return what it printed.

    Raise Failed with what it complained of, or else with what it printed, unless that
    is secret: errors are logged, and stored with the result of a drill. A program that
    takes longer than the deadline is ended, as it is when we are cancelled or killed.
    """
    # In memory: what it has complained of is known, too, where it has to be ended.
    complaints = os.memfd_create("complaints")
    try:
        printed, code = await _run(
            argv,
            secrets=secrets,
            given=given,
            env=env,
            complaints=complaints,
            deadline_s=deadline_s,
        )
        said = _essence(os.pread(complaints, _MAX_READ, 0))
    finally:
        os.close(complaints)
    if code is None:
        why = f" ({said})" if said else ""
        raise Failed(
            f"{doing}: gave up after {deadline_s:.0f} s without an end{why}; can it be "
            "reached from here?",
            code=-1,
        )
    if code:
        if not said and not prints_secrets:
            said = _essence(printed)
        raise Failed(f"{doing}: {said or f'exit code {code}'}", code=code)
    return printed


async def _run(
    argv: Sequence[str | Path],
    *,
    secrets: Sequence[Secret],
    given: bytes | None,
    env: Mapping[str, str] | None,
    complaints: int,
    deadline_s: float,
) -> tuple[bytes, int | None]:
    """Run a program; return what it printed, and its code unless it was too slow."""
    process = await asyncio.create_subprocess_exec(
        *with_death_signal(argv),
        cwd="/",
        env={name: os.environ[name] for name in _HARMLESS if name in os.environ}
        | dict(env or {}),
        stdin=asyncio.subprocess.DEVNULL if given is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=complaints,
        pass_fds=[each.file for each in secrets],
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(deadline_s):
            printed, _ = await process.communicate(given)
    except TimeoutError:
        return b"", None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()  # to the end of its pipes, which closes them
    return printed, process.returncode


def _essence(output: bytes) -> str:
    """Return what a program said is wrong, on one line."""
    lines = (line.strip() for line in output.decode(errors="replace").splitlines())
    message = "; ".join(dict.fromkeys(line for line in lines if not _NOISE.match(line)))
    return message if len(message) <= _MAX_SAID else f"{message[:_MAX_SAID]}..."
