"""`leyden down`, `status` and `logs`, with the private chain and its cluster."""

from copy import copy

import click

from leyden.app.cli import local_platform
from leyden.base.cli.bodies import body_in


def _with_private_chain(command: click.Command) -> click.Command:
    """Return the service's command with a body of ours."""
    ours = copy(command)
    assert command.callback is not None  # noqa: S101  for the type checker
    ours.callback = body_in("leyden_workshop.cli.running.local_platform")(
        command.callback
    )
    return ours


down = _with_private_chain(local_platform.down)
status = _with_private_chain(local_platform.status)
logs = _with_private_chain(local_platform.logs)
