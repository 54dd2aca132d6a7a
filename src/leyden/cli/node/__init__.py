"""`leyden node`: what an owner does with a node itself, past the platform.

Passwords, seeds and macaroons go to the node alone, over TLS that ends in it. What the
platform is given to keep was sealed here before.
"""

import click

from leyden.cli.groups import Group
from leyden.cli.node import backups, bakery, channels, restoring, wallet


@click.group(cls=Group)
def node() -> None:
    """Make and open a node's wallet, bake macaroons, look after backups.

    Runs on your machine. Passwords come from a file, from LEYDEN_WALLET_PASSWORD, or
    are asked for; they, the seed and the macaroons go to the node itself, and nowhere
    else. Backups are sealed here under the wallet's password before the platform gets
    them to keep.
    """


for each in (
    *(wallet.init, restoring.restore, wallet.unlock, wallet.password),
    *(bakery.bake, bakery.macaroons, bakery.macaroon, bakery.revoke),
    channels.channels,
    *(backups.backup, backups.seed, backups.keep, backups.reseal),
    backups.replaced,
):
    node.add_command(each)
