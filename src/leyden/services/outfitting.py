"""What an lnd is started with: settings with their secrets, and its certificate."""

import json
import secrets
from datetime import datetime

from leyden.domain import node_settings
from leyden.domain.node_settings import NodeSettings
from leyden.domain.nodes import Node
from leyden.gateway.expiry import Validity, renewal_due, validity
from leyden.lnd.home import Tls
from leyden.runtimes.base import Outfit
from leyden.services.fleet import Fleet
from leyden.storage.nouns import Nouns
from leyden.storage.outfits import SealedOutfit

_SECRET_BYTES = 32


def new(fleet: Fleet, node: Node, settings: NodeSettings) -> SealedOutfit:
    """Make what a new node is started with: its certificate, its webhook secret."""
    tls = fleet.authority.issue(node.api_endpoint, now=node.created)
    return SealedOutfit(
        node_id=node.id,
        settings=seal_settings(fleet, node.id, settings),
        webhook_secret=fleet.sealer.seal(
            secrets.token_hex(_SECRET_BYTES).encode(),
            purpose=webhook_secret_purpose(node.id),
        ),
        certificate=tls.chain_pem,
        certificate_until=validity(tls.chain_pem).until,
        key=fleet.sealer.seal(tls.key_pem, purpose=_key_purpose(node.id)),
    )


def opened(fleet: Fleet, node: Node, sealed: SealedOutfit) -> Outfit:
    """Open what was sealed."""
    key = fleet.sealer.open(sealed.key, purpose=_key_purpose(node.id))
    return Outfit(
        settings=whole_settings(fleet, node, sealed),
        tls=Tls(chain_pem=sealed.certificate, key_pem=key),
    )


def whole_settings(fleet: Fleet, node: Node, sealed: SealedOutfit) -> NodeSettings:
    """Give the settings with their secrets in place."""
    kept = fleet.sealer.open(sealed.settings, purpose=_settings_purpose(node.id))
    return node_settings.with_secrets(node.settings, json.loads(kept))


def seal_settings(fleet: Fleet, node_id: str, settings: NodeSettings) -> bytes:
    """Seal those settings that are secrets."""
    kept = json.dumps(node_settings.secrets_of(settings)).encode()
    return fleet.sealer.seal(kept, purpose=_settings_purpose(node_id))


def webhook_secret(fleet: Fleet, sealed: SealedOutfit) -> str:
    """Give the secret by which a receiver knows that an event is ours."""
    return fleet.sealer.open(
        sealed.webhook_secret, purpose=webhook_secret_purpose(sealed.node_id)
    ).decode()


def webhook_secret_purpose(node_id: str) -> str:
    """Name what a webhook secret is sealed for."""
    return f"webhook secret of {node_id}"


def is_renewable(fleet: Fleet, sealed: SealedOutfit, *, now: datetime) -> bool:
    """Tell whether a start at this time should come with a new certificate.

    One that was handed in is its owner's to renew. But lnd replaces one that has ended
    by one that it signs itself, which nobody trusts: ours is better than that.
    """
    if not fleet.authority.issued(sealed.certificate):
        return now >= sealed.certificate_until
    since = validity(sealed.certificate).since
    return renewal_due(Validity(since, sealed.certificate_until), now)


async def renew(
    fleet: Fleet, tx: Nouns, node: Node, *, now: datetime, handed_in: Tls | None = None
) -> None:
    """Give the node a new certificate, ours unless one was handed in.

    lnd takes it at its next start.
    """
    tls = handed_in or fleet.authority.issue(node.api_endpoint, now=now)
    await tx.outfits.set_certificate(
        node.id,
        chain=tls.chain_pem,
        until=validity(tls.chain_pem).until,
        key=fleet.sealer.seal(tls.key_pem, purpose=_key_purpose(node.id)),
    )


def _key_purpose(node_id: str) -> str:
    return f"certificate key of {node_id}"


def _settings_purpose(node_id: str) -> str:
    return f"settings of {node_id}"
