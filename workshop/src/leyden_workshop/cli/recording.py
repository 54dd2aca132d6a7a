"""`leyden dev record`: the first minutes of a platform, as the README shows them.

1. Commands run one after the other. What they print is noted with its time, in a cast
   of asciinema (version 2). Long pauses are cut.
2. The cast becomes an SVG that plays by itself, once: without a script or a player.
"""

import json
import os
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import Final

import click

from leyden.base import settings

_STORY: Final = (
    "leyden up --detach",
    'leyden nodes create "harbour light" --wait',
    "leyden dev scenario first-channel",
)
_COLUMNS, _ROWS = 92, 24
_LONGEST_PAUSE_S: Final = 1.5
_LINE, _CHARACTER, _MARGIN = 18, 8, 12  # pixels
_PICTURE: Final = Template(
    """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width"
  height="$height" role="img" aria-label="$label">
<style>
text {font: 13px ui-monospace, monospace; white-space: pre; opacity: 0;
  animation: show 0s linear forwards}
.typed {fill: #f0b35a}
.said {fill: #d6d3cd}
#lines {animation: rise ${end}s steps(1, end) forwards}
@keyframes show {to {opacity: 1}}
@keyframes rise {
$rises
100% {transform: translateY(${risen}px)}}
@media (prefers-reduced-motion: reduce) {
text, #lines {animation-duration: 0s; animation-delay: 0s !important}}
</style>
<rect width="$width" height="$height" rx="8" fill="#1f1d1a"/>
<svg x="$margin" y="$margin" height="$inner"><g id="lines">
$texts
</g></svg>
</svg>
"""
)

Line = tuple[float, str]  # seconds since the beginning, and what is printed then


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def record(folder: Path) -> None:
    """Record the first minutes of a platform, for the README.

    Brings up a platform in LEYDEN_HOME, which should be a new folder, creates a node
    and buys a channel; writes tour.cast, for asciinema's players, and tour.svg.
    `leyden down` ends the platform.

    \b
    leyden dev record docs/pictures
    """
    home = settings.load(os.environ).home_path
    lines = list(paced(played(_STORY, home)))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tour.cast").write_text(cast(lines))
    (folder / "tour.svg").write_text(drawn(lines))


def played(commands: Iterable[str], home: Path) -> Iterator[Line]:
    """Run the commands, and return each line that is typed or printed."""
    begun = time.monotonic()
    for command in commands:
        yield time.monotonic() - begun, f"$ {command}"
        words = [sys.argv[0], *shlex.split(command)[1:]]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            for line in process.stdout or ():
                print(line, end="", file=sys.stderr)
                shown = line.replace(str(home), ".leyden")  # where most people have it
                yield time.monotonic() - begun, shown.rstrip()
        if process.returncode:
            raise click.ClickException(f"{command}: exits with {process.returncode}")
        yield time.monotonic() - begun, ""


def paced(lines: Iterable[Line]) -> Iterator[Line]:
    """Cut long pauses, and long lines into some that fit."""
    now = before = 0.0
    for at, text in lines:
        now += min(at - before, _LONGEST_PAUSE_S)
        before = at
        for line in textwrap.wrap(text, _COLUMNS) or [""]:
            yield now, line


def cast(lines: Iterable[Line]) -> str:
    """Return a recording that asciinema plays."""
    head = {"version": 2, "width": _COLUMNS, "height": _ROWS}
    rows = [head, *([round(at, 3), "o", f"{text}\r\n"] for at, text in lines)]
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def drawn(lines: list[Line]) -> str:
    """Return a picture in which each line appears at its time, below earlier ones."""
    end = lines[-1][0] + 1
    rises = [
        f"{100 * at / end:.2f}% {{transform:translateY({_LINE * (_ROWS - 1 - row)}px)}}"
        for row, (at, _) in enumerate(lines)
        if row >= _ROWS
    ]
    texts = [
        f'<text y="{row * _LINE + 13}" style="animation-delay:{at:.2f}s"'
        f' class="{"typed" if text.startswith("$ ") else "said"}">{escape(text)}</text>'
        for row, (at, text) in enumerate(lines)
        if text
    ]
    return _PICTURE.substitute(
        width=_COLUMNS * _CHARACTER + 2 * _MARGIN,
        height=_ROWS * _LINE + 2 * _MARGIN,
        inner=_ROWS * _LINE,
        margin=_MARGIN,
        label=escape("A terminal: " + ", ".join(_STORY)),
        rises="\n".join(rises),
        risen=_LINE * min(0, _ROWS - len(lines)),
        end=f"{end:.2f}",
        texts="\n".join(texts),
    )
