"""`leyden quotas`: an organization's limits and their usage."""

import click

from leyden.base.cli.output import as_json, print_json, print_rows
from leyden.customer.session import ApiSession, with_session


@click.command()
@as_json
@with_session
def quotas(session: ApiSession, *, as_json: bool) -> None:
    """Print your organization's quotas and their usage.

    \b
    leyden quotas
    """
    found = session.client.quotas()
    if as_json:
        print_json({"quotas": found})
        return
    print_rows(
        (
            {"quota": name, "used": each.used, "limit": each.limit}
            for name, each in found.items()
        ),
        empty="none",
    )
