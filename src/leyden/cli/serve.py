"""The production processes: API server, background worker, gateway."""

from pathlib import Path

import click

from leyden.cli.bodies import body_in

_BODIES = "leyden.cli.running.servers"


@click.command()
@body_in(_BODIES)
def serve() -> None:
    """Run the API server.

    On PostgreSQL run any number, with `leyden worker` beside them; with
    local nodes in one home, on one machine. On SQLite this is the only
    process, and includes the worker.

    \b
    leyden serve
    """


@click.command()
@body_in(_BODIES)
def worker() -> None:
    """Run background jobs: nodes, payments, webhooks.

    On PostgreSQL run any number. Workers share the nodes of one home, on
    one machine.

    \b
    leyden worker
    """


@click.command()
@click.option(
    "--prepare",
    type=click.Path(file_okay=False, path_type=Path),
    help="Only write what an Envoy that you run yourself starts with to this folder.",
)
@body_in(_BODIES)
def gateway(prepare: Path | None) -> None:
    """Run the gateway to nodes on a machine of its own.

    The gateway is an Envoy that fetches its routes from the API. Envoy
    keeps running with its current routes when this command ends.

    \b
    leyden gateway
    leyden gateway --prepare /run/gateway
    """
