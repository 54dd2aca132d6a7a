"""Launch specs: an lnd's settings with their secrets, and certificate."""

import json
import secrets
from datetime import datetime

from leyden.base.database.stores import Stores
from leyden.events.rows.subscriptions import webhook_secret_purpose
from leyden.nodes import issuance
from leyden.nodes.certificates.expiry import Validity, renewal_due, validity
from leyden.nodes.fleet import Fleet
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rows.launch_specs import SealedLaunchSpec
from leyden.nodes.rules import node_settings
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import Start
from leyden.nodes.runtimes.base import LaunchSpec

_SECRET_BYTES = 32


def new(fleet: Fleet, node: Node, settings: NodeSettings) -> SealedLaunchSpec:
    """Create a new node's launch spec: its certificate and webhook secret."""
    tls = fleet.authority.issue(node.api_endpoint, now=node.created)
    return SealedLaunchSpec(
        node_id=node.id,
        settings=seal_settings(fleet, node.id, settings),
        webhook_secret=fleet.sealer.seal(
            secrets.token_hex(_SECRET_BYTES).encode(),
            purpose=webhook_secret_purpose(node.id),
        ),
        certificate=tls.chain_pem,
        certificate_until=validity(tls.chain_pem).until,
        key=fleet.sealer.seal(tls.key_pem, purpose=key_purpose(node.id)),
    )


def unseal(
    fleet: Fleet, node: Node, sealed: SealedLaunchSpec, *, last_start: Start
) -> LaunchSpec:
    """Decrypt a sealed launch spec."""
    key = fleet.sealer.open(sealed.key, purpose=key_purpose(node.id))
    return LaunchSpec(
        settings=whole_settings(fleet, node, sealed),
        tls=Tls(chain_pem=sealed.certificate, key_pem=key),
        peer_address=fleet.rules.peer_address(node.open_peer_port),
        onion_address=fleet.rules.onion_address(node.onion, node.open_peer_port),
        last_start=last_start,
    )


def whole_settings(fleet: Fleet, node: Node, sealed: SealedLaunchSpec) -> NodeSettings:
    """Return the settings with their secrets filled in."""
    secrets = fleet.sealer.open(sealed.settings, purpose=settings_purpose(node.id))
    return node_settings.with_secrets(node.settings, json.loads(secrets))


def seal_settings(fleet: Fleet, node_id: str, settings: NodeSettings) -> bytes:
    """Seal the settings that are secrets."""
    plain = json.dumps(node_settings.secrets_of(settings)).encode()
    return fleet.sealer.seal(plain, purpose=settings_purpose(node_id))


async def next_certificate(
    fleet: Fleet, stores: Stores, node: Node, sealed: SealedLaunchSpec, *, now: datetime
) -> Tls | None:
    """Return the certificate for a start at this time; None to keep it.

    A certificate of an external authority takes precedence over ours, and is
    used even before half of the current one's life is over: it is unknown
    when the next start will be.
    """
    issued = await _issued(fleet, stores, node, now=now)
    if issued is not None and issued.chain_pem != sealed.certificate:
        return issued
    if _is_renewable(fleet, sealed, now=now):
        return fleet.authority.issue(node.api_endpoint, now=now)
    return None


async def newest_certificate(
    fleet: Fleet, stores: Stores, node: Node, *, now: datetime
) -> Tls:
    """Return the newest issued certificate, or a new one of our own."""
    issued = await _issued(fleet, stores, node, now=now)
    return issued or fleet.authority.issue(node.api_endpoint, now=now)


async def _issued(
    fleet: Fleet, stores: Stores, node: Node, *, now: datetime
) -> Tls | None:
    if not fleet.rules.issued:
        return None
    return await issuance.newest(fleet.sealer, stores, node.api_endpoint, now=now)


def _is_renewable(fleet: Fleet, sealed: SealedLaunchSpec, *, now: datetime) -> bool:
    """Return whether a start now should renew our own certificate.

    Renewing an uploaded certificate is up to its owner. But lnd replaces an
    expired one by a self-signed one, which nobody trusts: a certificate of
    ours is better than that.
    """
    if not fleet.authority.issued(sealed.certificate):
        return now >= sealed.certificate_until
    if not fleet.authority.is_current(sealed.certificate):
        return True  # the authority was rotated
    since = validity(sealed.certificate).since
    return renewal_due(Validity(since, sealed.certificate_until), now)


async def keep_certificate(fleet: Fleet, tx: Stores, node: Node, tls: Tls) -> None:
    """Store the certificate that the node's lnd uses at its next start."""
    await tx.launch_specs.set_certificate(
        node.id,
        chain=tls.chain_pem,
        until=validity(tls.chain_pem).until,
        key=fleet.sealer.seal(tls.key_pem, purpose=key_purpose(node.id)),
    )


def key_purpose(node_id: str) -> str:
    """Return what the key of a node's certificate is sealed for."""
    return f"certificate key of {node_id}"


def settings_purpose(node_id: str) -> str:
    """Return what a node's secret settings are sealed for."""
    return f"settings of {node_id}"
