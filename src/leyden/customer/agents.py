"""`leyden mcp`: a platform for agents, by the Model Context Protocol."""

import re

import click

from leyden.base.cli.bodies import body_in
from leyden.customer.session import ApiSession, with_session

_PREFIX = re.compile(r"[0-9A-Za-z_-]{1,40}")


def _checked(_: click.Context, __: click.Parameter, prefix: str | None) -> str | None:
    if prefix is not None and not _PREFIX.fullmatch(prefix):
        raise click.BadParameter("must have 1 to 40 letters, digits, - and _")
    return prefix


@click.command()
@click.option(
    "--budget",
    type=click.IntRange(1),
    metavar="SATOSHIS",
    help=(
        "What all orders of this process may cost; also lets it create, start and stop "
        "nodes. Default: it only reads."
    ),
)
@click.option(
    "--idempotency-prefix",
    "prefix",
    callback=_checked,
    help=(
        "With --budget: what the idempotency keys begin with. A later process with the "
        "same prefix repeats no order."
    ),
)
@with_session
@body_in("leyden.customer.agent_tools")
def mcp(session: ApiSession, *, budget: int | None, prefix: str | None) -> None:
    """Serve tools for agents over standard input and output, as MCP.

    The agent's program starts this command. By default, agents read nodes, orders,
    events, credit and quotes. No answer has a secret, and nothing else of your profile.

    \b
    leyden mcp
    leyden mcp --budget 50000 --idempotency-prefix harbour
    """
