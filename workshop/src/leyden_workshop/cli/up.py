"""The whole platform on one machine: `leyden up`."""

from pathlib import Path

import click

from leyden.app.cli.local_platform import home_option
from leyden.base.cli.bodies import body_in


@click.command()
@home_option
@click.option(
    "--detach",
    is_flag=True,
    help="Return once the platform is up, and leave it running.",
)
@click.option(
    "--runtime",
    type=click.Choice(["local", "kubernetes"]),
    help="Where nodes run; otherwise as before, at first local.",
)
@body_in("leyden_workshop.cli.running.up")
def up(home: Path | None, runtime: str | None, *, detach: bool) -> None:
    """Start the whole platform on this machine, with a private chain.

    The first start builds lnd, btcd, Pool and an auction from source, which takes
    minutes, or downloads what has a pinned release archive. Later starts take
    seconds and need no network. Ctrl-C or `leyden down` stops the platform. Nodes keep
    running, and the next start finds them.

    With --runtime kubernetes, nodes are pods of a Kubernetes cluster that
    runs on this machine too (see `leyden dev cluster`). It needs root, and
    its first start builds Kubernetes, which takes many minutes.

    \b
    leyden up
    leyden up --detach
    leyden up --runtime kubernetes
    """
