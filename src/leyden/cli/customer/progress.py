"""What is shown while something takes its time: to people only, on standard error."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console

Told = Callable[[str], object]


@contextmanager
def waiting(what: str) -> Iterator[Told]:
    """Show what is waited for and for how long; say new words as they come.

    On a terminal one line changes; elsewhere each new word is a line. `leyden --quiet`
    says nothing.
    """
    if click.get_current_context().find_root().params.get("quiet"):
        yield lambda _: None
        return
    console = Console(stderr=True, highlight=False, markup=False)
    began = time.monotonic()
    last = ""

    def line(words: str) -> str:
        return f"{what}: {words} ({time.monotonic() - began:.0f} s)"

    if not console.is_terminal:

        def say(words: str) -> None:
            nonlocal last
            if words != last:
                console.print(line(words))
            last = words

        yield say
        return
    with console.status(what) as status:

        def show(words: str) -> None:
            status.update(line(words))

        yield show
