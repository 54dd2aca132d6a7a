"""Secrets from a file, the environment or a prompt; never from argv."""

import os
import sys
from pathlib import Path

import click

from leyden.base.files import unreadable
from leyden.errors import SetupError

_MISSING = "{}: set {}, or name a file that contains it"


def prompted(
    what: str, *, file: Path | None, variable: str, twice: bool = False
) -> str:
    """Return a secret from the file, else the variable, else a prompt.

    Without a terminal, the next line of standard input is read.
    """
    if file is not None:
        try:
            found = file.read_text("utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"{file}: cannot be read ({unreadable(error)})") from None
        if not found:
            raise SetupError(f"{file}: must not be empty")
        return found
    if found := os.environ.get(variable, ""):
        return found
    if sys.stdin is sys.__stdin__ and not os.isatty(0):
        return _piped(what, variable)
    try:
        typed: str = click.prompt(
            what, hide_input=True, confirmation_prompt=twice, err=True
        )
    except click.Abort:
        raise SetupError(_MISSING.format(what, variable)) from None
    return typed


def _piped(what: str, variable: str) -> str:
    line = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    if not line:
        raise SetupError(_MISSING.format(what, variable))
    return line
