"""Displaying a seed once with a check, and writing private files."""

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from leyden.base.files import write_private
from leyden.errors import Malformed

_ASKED = 3
_COLUMNS = 4
_TRIES = 3


def seed_shown(words: Sequence[str]) -> None:
    """Print the seed's words in columns on the terminal."""
    lines = -(-len(words) // _COLUMNS)
    for line in range(lines):
        row = range(line, len(words), lines)
        click.echo("  ".join(f"{at + 1:>2} {words[at]:<9}" for at in row), err=True)


def confirm_seed(words: Sequence[str]) -> None:
    """Prompt for three of the words; raise Malformed if they stay wrong."""
    for _ in range(_TRIES):
        click.echo(
            f"\nThese {len(words)} words are your wallet. Write them down in this "
            "order. Anyone who has them can take your money.\n",
            err=True,
        )
        seed_shown(words)
        click.pause("\nPress a key once you have written them down ...", err=True)
        _hide()
        positions = sorted(secrets.SystemRandom().sample(range(len(words)), _ASKED))
        try:
            wrong = [
                str(at + 1)
                for at in positions
                if click.prompt(f"Word {at + 1}", err=True).strip().lower() != words[at]
            ]
        except click.Abort:
            raise Malformed(
                "no words were typed, so no wallet was created; without a terminal, "
                "use --hide-seed: it stores the seed encrypted, and you can show it "
                "later"
            ) from None
        if not wrong:
            return
        click.echo(
            f"Wrong at number {', '.join(wrong)}. Here are the words again.", err=True
        )
    raise Malformed("the words were not confirmed; no wallet was created")


def kept_private(file: Path, content: bytes) -> None:
    """Write a file readable only by its owner, atomically."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(file, content)


def _hide() -> None:
    """Clear the screen, if there is a terminal."""
    if sys.stderr.isatty():
        click.echo("\033[2J\033[3J\033[H", err=True, nl=False)
