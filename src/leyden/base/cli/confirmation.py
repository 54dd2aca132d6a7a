"""Confirming what can't be undone."""

import os
import sys

import click

from leyden.errors import SetupError

yes_option = click.option("--yes", is_flag=True, help="Don't ask for confirmation.")


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless `yes` is true; without a terminal, refuse and say what to pass."""
    if not yes:
        on_terminal(question)
        click.confirm(question, abort=True, err=True)


def on_terminal(question: str, *, instead: str = "pass --yes to confirm") -> None:
    """Raise SetupError where nobody can answer, with what to do instead."""
    if sys.stdin is sys.__stdin__ and not os.isatty(0):
        raise SetupError(f"{question} Nothing was done: without a terminal, {instead}")
