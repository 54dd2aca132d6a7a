"""Secrets that are typed in: from a file, the environment, or a prompt; never argv."""

import os
from pathlib import Path

import click

from leyden.errors import SetupError


def asked_for(
    what: str, *, file: Path | None, variable: str, twice: bool = False
) -> str:
    """Give a secret: what the file holds, else the variable, else what is typed."""
    if file is not None:
        try:
            found = file.read_text().removesuffix("\n").removesuffix("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(
                f"{file}: cannot be read ({type(error).__name__})"
            ) from None
        if not found:
            raise SetupError(f"{file}: is empty")
        return found
    if found := os.environ.get(variable, ""):
        return found
    try:
        typed: str = click.prompt(
            what, hide_input=True, confirmation_prompt=twice, err=True
        )
    except click.Abort:
        raise SetupError(
            f"{what}: set {variable}, or name a file that holds it"
        ) from None
    return typed
