"""The production processes: API server, background worker, gateway."""

from pathlib import Path

import click

from leyden.base.cli.bodies import body_in

_BODIES = "leyden.app.cli.running.servers"


@click.command()
@body_in(_BODIES)
def serve() -> None:
    """Run the API server.

    On PostgreSQL you can run several, together with `leyden worker`. If nodes run
    locally, all of them use the same home on one machine. On SQLite you run only this
    process: it also does the work of `leyden worker`.

    \b
    leyden serve
    """


@click.command()
@body_in(_BODIES)
def worker() -> None:
    """Run background jobs: nodes, payments, webhooks.

    On PostgreSQL you can run several. If nodes run locally, all workers use the same
    home on one machine.

    \b
    leyden worker
    """


@click.command()
@click.option(
    "--prepare",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the configuration for an Envoy that you run to this folder, and exit.",
)
@body_in(_BODIES)
def gateway(prepare: Path | None) -> None:
    """Run the gateway to nodes on a separate machine.

    The gateway is an Envoy that fetches its routes from the API. Envoy
    keeps running with its current routes when this command ends.

    \b
    leyden gateway
    leyden gateway --prepare /run/gateway
    """
