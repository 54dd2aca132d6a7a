"""`leyden wallet`: a node's wallet, in the hands of its owner.

Passwords, seeds and macaroons are sent only to the node, over TLS that
terminates in the node. Backups are encrypted on this machine before the
platform stores them.
"""

import click

from leyden.cli.groups import Group
from leyden.cli.wallet import backups, bakery, channels, drill, passwords, restoring


@click.group(cls=Group)
def wallet() -> None:
    """Create and unlock a node's wallet, bake macaroons, manage backups.

    These commands call the node itself, with keys that you alone have.
    Passwords come from a file, from LEYDEN_WALLET_PASSWORD, or from a
    prompt; they, the seed and the macaroons are sent only to the node.
    Backups are encrypted here under the wallet's password before the
    platform stores them.
    """


for each in (
    *(passwords.init, restoring.restore, passwords.unlock, passwords.password),
    *(bakery.bake, bakery.macaroons, bakery.macaroon, bakery.revoke),
    channels.channels,
    *(backups.backup, backups.seed, backups.keep, backups.reseal),
    *(backups.replaced, drill.drill),
):
    wallet.add_command(each)
