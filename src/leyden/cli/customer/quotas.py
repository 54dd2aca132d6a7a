"""`leyden quotas`: what an organization may have, and how much it has."""

import click

from leyden.cli.customer.session import Session, speaking
from leyden.cli.output import as_json, print_json, print_rows


@click.command()
@as_json
@speaking
def quotas(session: Session, *, as_json: bool) -> None:
    """Show what your organization may have, and how much of it is in use.

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
