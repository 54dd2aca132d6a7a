"""`leyden wallet`: a node's wallet, in the hands of its owner.

Passwords, seeds and macaroons are sent only to the node, over TLS that
terminates in the node. Backups are encrypted on this machine before the
platform stores them.
"""

import click

from leyden.base.cli.groups import LazyCommand, LazyGroup
from leyden.customer.wallet import (
    backups,
    bakery,
    channel_changes,
    channels,
    coins,
    passwords,
    payments,
    peers,
    rebalance,
    receive,
    restoring,
    send,
)

# It calls an lnd on this machine, with packages that only Linux has.
_DRILL = LazyCommand(
    "leyden.customer.wallet.drill",
    "Verify that a node's backups decrypt and belong to the node.",
)


@click.group(cls=LazyGroup, lazy={"drill": _DRILL})
def wallet() -> None:
    """Use a node's wallet: unlock, receive, send, channels, macaroons, backups.

    These commands call the node itself, with keys that only you have. Passwords come
    from a file, from LEYDEN_WALLET_PASSWORD, or from a prompt. Passwords, seed and
    macaroons are sent to the node only. Backups are encrypted on this machine with the
    wallet password before the platform stores them.
    """


for each in (
    *(passwords.init, restoring.restore, passwords.unlock, passwords.password),
    *(bakery.bake, bakery.macaroons, bakery.macaroon, bakery.test_macaroon),
    bakery.revoke,
    *(receive.receive, send.send, send.bump, payments.payments),
    *(channels.channels, channel_changes.open_, channel_changes.close),
    *(channel_changes.fees, rebalance.rebalance, coins.coins),
    *(peers.peers, peers.connect, peers.disconnect),
    *(backups.backup, backups.seed, backups.keep, backups.reseal),
    backups.replaced,
):
    wallet.add_command(each)
