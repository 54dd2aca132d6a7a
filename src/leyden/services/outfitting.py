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
from leyden.services import issuance
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


async def next_certificate(
    fleet: Fleet, nouns: Nouns, node: Node, sealed: SealedOutfit, *, now: datetime
) -> Tls | None:
    """Give the certificate that a start at this time should come with; None: as it is.

    What an authority of others has issued goes before ours, and does not wait until
    half of its life is over: nobody knows when the next start will be.
    """
    issued = await _issued(fleet, nouns, node, now=now)
    if issued is not None and issued.chain_pem != sealed.certificate:
        return issued
    if _is_renewable(fleet, sealed, now=now):
        return fleet.authority.issue(node.api_endpoint, now=now)
    return None


async def newest_certificate(
    fleet: Fleet, nouns: Nouns, node: Node, *, now: datetime
) -> Tls:
    """Give the newest certificate there is, or a new one of ours."""
    issued = await _issued(fleet, nouns, node, now=now)
    return issued or fleet.authority.issue(node.api_endpoint, now=now)


async def _issued(
    fleet: Fleet, nouns: Nouns, node: Node, *, now: datetime
) -> Tls | None:
    if not fleet.rules.issued:
        return None
    return await issuance.newest(fleet.sealer, nouns, node.api_endpoint, now=now)


def _is_renewable(fleet: Fleet, sealed: SealedOutfit, *, now: datetime) -> bool:
    """Tell whether a start at this time should come with a new certificate of ours.

    One that was handed in is its owner's to renew. But lnd replaces one that has ended
    by one that it signs itself, which nobody trusts: ours is better than that.
    """
    if not fleet.authority.issued(sealed.certificate):
        return now >= sealed.certificate_until
    since = validity(sealed.certificate).since
    return renewal_due(Validity(since, sealed.certificate_until), now)


async def keep_certificate(fleet: Fleet, tx: Nouns, node: Node, tls: Tls) -> None:
    """Keep the certificate that the node's lnd takes at its next start."""
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
