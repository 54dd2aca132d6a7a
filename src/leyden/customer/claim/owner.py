"""What the node's owner does for a claim: bake poold's macaroon, and revoke it."""

import secrets
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from leyden.client import Lnd, channels, macaroons, wallets
from leyden.customer.claim.state import ClaimFolder, TicketClaim
from leyden.customer.session import ApiSession
from leyden.customer.wallet.reaching import open_node
from leyden.errors import LeydenError
from leyden.schemas.nodes import NodeItem
from leyden.values import replace

# All that poold calls for somebody who registers a ticket. It can neither send coins,
# nor pay, nor open or close a channel, nor read invoices.
_METHODS: Final = (
    "lnrpc.Lightning/GetInfo",
    "lnrpc.Lightning/ConnectPeer",  # to the seller
    "lnrpc.Lightning/ListPeers",
    "lnrpc.Lightning/SubscribePeerEvents",
    "lnrpc.Lightning/ListChannels",
    "lnrpc.Lightning/PendingChannels",
    "lnrpc.Lightning/SubscribeChannelEvents",
    "lnrpc.Lightning/ChannelAcceptor",
    "lnrpc.Lightning/FundingStateStep",
    "lnrpc.Lightning/ExportChannelBackup",  # of the new channel, read for its keys
    "lnrpc.Lightning/AbandonChannel",  # of a batch that was replaced by another
    "walletrpc.WalletKit/EstimateFee",  # at its start
    "walletrpc.WalletKit/DeriveKey",
    "walletrpc.WalletKit/DeriveNextKey",
    "signrpc.Signer/SignMessage",
    "signrpc.Signer/VerifyMessage",
    "signrpc.Signer/DeriveSharedKey",  # encrypts poold's own database
    "chainrpc.ChainNotifier/RegisterBlockEpochNtfn",
    "verrpc.Versioner/GetVersion",
)
PERMISSIONS: Final = tuple(f"uri:/{each}" for each in _METHODS)
# Far from those that `leyden wallet bake` and the dashboard count up: who revokes
# this root key revokes no other macaroon.
_FIRST_ROOT_KEY: Final = 1 << 31


class NodeOwner:
    """The owner of a node, with a macaroon that may bake and revoke others."""

    def __init__(self, session: ApiSession, node: NodeItem, admin: str) -> None:
        self._session, self._node, self._admin = session, node, admin

    def bake(self, folder: ClaimFolder, claim: TicketClaim, *, lasts: timedelta) -> str:
        """Bake poold's macaroon, in hex; revoke that of a run that was killed.

        Its root key is written down first, so that it can always be revoked. It
        expires by itself where nobody comes back to do that.
        """
        self.revoke(folder, claim)
        root_key = _FIRST_ROOT_KEY + secrets.randbelow(_FIRST_ROOT_KEY)
        folder.save(replace(claim, root_key=root_key))
        with self._opened() as lnd:
            baked = wallets.bake(lnd, PERMISSIONS, root_key_id=root_key)
        now = datetime.now(UTC)
        for each in macaroons.caveats(address="", until=now + lasts, now=now):
            baked = macaroons.narrowed(baked, each)
        return baked

    def revoke(self, folder: ClaimFolder, claim: TicketClaim) -> None:
        """Revoke what is written down, unless it is revoked."""
        if not claim.root_key:
            return
        with self._opened() as lnd:
            if str(claim.root_key) in wallets.root_keys(lnd):
                wallets.revoke(lnd, claim.root_key)
        folder.save(replace(claim, root_key=0))

    def revoked(self, folder: ClaimFolder) -> bool:
        """Revoke what is written down; say how to do it by hand where that fails."""
        claim = folder.load()
        if claim is None:
            return True
        try:
            self.revoke(folder, claim)
        except LeydenError as error:
            click.echo(
                f"The macaroon of this claim is not revoked ({error.message}). Run "
                "the command again, or: leyden wallet revoke "
                f"{self._node.node_name!r} --root-key {claim.root_key}",
                err=True,
            )
            return False
        return True

    def channel_points(self) -> set[str]:
        """Return the node's channels, pending ones too."""
        with self._opened() as lnd:
            return {each.point for each in channels.look(lnd).channels}

    def _opened(self) -> AbstractContextManager[Lnd]:
        return open_node(self._session, self._node, macaroon=self._admin)
