"""`leyden mail`: the mail server."""

import click

from leyden.base.cli.database import on_platform
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, print_done
from leyden.base.platform import Platform
from leyden.base.rules.accounts import new_id
from leyden.errors import Malformed, SetupError
from leyden.events.rules.emails import Email, is_address
from leyden.events.rules.letters import Letter, write
from leyden.events.wiring.emailing import make_emailing


@click.group(cls=LazyGroup)
def mail() -> None:
    """Test the mail server."""


@mail.command()
@click.argument("address")
@as_json
def test(address: str, *, as_json: bool) -> None:
    """Send a test email to ADDRESS; exit 1 with the server's reason if it fails.

    \b
    leyden mail test ada@example.org
    """
    if not is_address(address):
        raise Malformed("ADDRESS: must look like name@example.org")

    async def send(platform: Platform) -> str:
        emailing = make_emailing(platform)
        if emailing is None:
            raise SetupError("smtp_host: not set, so the platform sends no emails")
        subject, text = write(Letter(kind="test", facts={}), origin=emailing.origin)
        await emailing.send(Email(id=new_id(), to=address, subject=subject, text=text))
        return f"{emailing.server.host}:{emailing.server.port}"

    server = on_platform(send)
    print_done(
        {"server": server, "to": address},
        f"{server} accepted an email for {address}",
        as_json=as_json,
    )
