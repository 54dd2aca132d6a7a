"""`leyden release`: the files of a release, from a clone."""

import os
from pathlib import Path

import click

from leyden_workshop.cli.checks import ROOT, from_a_clone
from leyden_workshop.cli.daemons import pack, programs
from leyden_workshop.compiler import release as files


@click.command()
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("dist"),
    show_default=True,
    help="Folder to write the files to.",
)
@click.option(
    "--dry",
    is_flag=True,
    help="Only what takes seconds, also with uncommitted changes: no daemons.",
)
@click.option("--images", is_flag=True, help="Also build the images, with buildah.")
@click.option(
    "--build-arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A base image, such as PYTHON=IMAGE; repeatable.",
)
@click.option(
    "--sign",
    "key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="KEY",
    help="SSH key to sign SHA256SUMS with.",
)
def release(
    output: Path,
    arguments: tuple[str, ...],
    key: Path | None,
    *,
    dry: bool,
    images: bool,
) -> None:
    """Build the packages of a release, from a tagged commit.

    Writes the wheel and the source of the service, the wheels of the workshop and of
    the daemons, the chart, and SHA256SUMS. Made twice from a commit, all are equal.

    \b
    leyden release --dry
    leyden release --sign ~/.ssh/release
    """
    from_a_clone()
    os.umask(0o022)  # what is released is for everybody
    at = files.commit_time(ROOT, dry=dry)
    output = output.absolute()
    made = files.python_packages(ROOT, output, at=at)
    made.append(files.chart(ROOT, output, at=at))
    if not dry:
        made.append(pack(programs(), output))
    if images:
        given = [f"--build-arg={each}" for each in arguments]
        made += files.images(ROOT, output, given, at=at)
    made.append(files.sums(output, made))
    if key is not None:
        made.append(files.sign(made[-1], key))
    print(*made, sep="\n")
