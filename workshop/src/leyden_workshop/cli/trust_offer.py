"""What `leyden up` asks at its end: whether this machine's browsers shall trust it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import click

from leyden.customer.trusting import is_trusted_here

_QUESTION = "Let this machine's browsers trust this platform now (`leyden trust`)?"
_LONGEST_LINE = 1024


def is_wanted(home: Path) -> bool:
    """Return whether somebody is there to ask, and it is not done yet."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_trusted_here(home)


async def ask_meanwhile(home: Path) -> None:
    """Ask while the platform runs; it does not wait for an answer."""
    if not is_wanted(home):
        return
    print(f"{_QUESTION} [y/N]: ", end="", flush=True)
    if (await _line()).strip().lower() in {"y", "yes"}:
        process = await asyncio.create_subprocess_exec(*_words(home))
        await process.wait()


def ask(home: Path) -> None:
    """Ask where the platform runs in the background."""
    if is_wanted(home) and click.confirm(_QUESTION):
        subprocess.run(_words(home), check=False)


async def _line() -> str:
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()
    terminal = sys.stdin.fileno()

    def read() -> None:
        loop.remove_reader(terminal)
        typed.set_result(os.read(terminal, _LONGEST_LINE))

    loop.add_reader(terminal, read)
    try:
        return (await typed).decode(errors="replace")
    finally:
        loop.remove_reader(terminal)


def _words(home: Path) -> list[str]:
    return [sys.argv[0], "trust", "--home", str(home)]
