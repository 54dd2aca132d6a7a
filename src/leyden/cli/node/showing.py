"""Showing a seed once, seeing that it was written down; keeping files private."""

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from leyden.errors import Malformed
from leyden.files import write_private

_ASKED = 3
_COLUMNS = 4
_TRIES = 3


def seed_shown(words: Sequence[str]) -> None:
    """Show the words, in columns, on the terminal."""
    lines = -(-len(words) // _COLUMNS)
    for line in range(lines):
        row = range(line, len(words), lines)
        click.echo("  ".join(f"{at + 1:>2} {words[at]:<9}" for at in row), err=True)


def written_down(words: Sequence[str]) -> None:
    """Ask for three of the words; Malformed when they stay unknown."""
    for _ in range(_TRIES):
        click.echo(
            f"\nThese {len(words)} words are the wallet. Write them down, in their "
            "order; whoever has them has the money.\n",
            err=True,
        )
        seed_shown(words)
        click.pause("\nPress a key when they are written down ...", err=True)
        _hide()
        places = sorted(secrets.SystemRandom().sample(range(len(words)), _ASKED))
        try:
            wrong = [
                str(at + 1)
                for at in places
                if click.prompt(f"Word {at + 1}", err=True).strip().lower() != words[at]
            ]
        except click.Abort:
            raise Malformed(
                "no words were typed, and no wallet was made; where nobody is at the "
                "terminal, --unattended keeps the seed sealed and shows it later"
            ) from None
        if not wrong:
            return
        click.echo(
            f"Not right: word {', '.join(wrong)}. Here they are once more.", err=True
        )
    raise Malformed("the words were not written down; no wallet was made")


def kept_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(file, content)


def _hide() -> None:
    """Move the words off the screen, where there is one."""
    if sys.stderr.isatty():
        click.echo("\033[2J\033[3J\033[H", err=True, nl=False)
