"""Progress messages for people, on standard error."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console

Progress = Callable[[str], object]


@contextmanager
def waiting(what: str) -> Iterator[Progress]:
    """Yield a progress callback; render the message and the time waited.

    On a terminal one line is updated; elsewhere each new message is a line.
    `leyden --quiet` disables messages.
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
