"""`leyden wallet drill`: proof that a node's backups can be used."""

import asyncio
import base64
import os
from pathlib import Path

import click

from leyden.base.cli.building import building
from leyden.base.cli.output import as_json, print_one
from leyden.base.daemons import build as builds
from leyden.base.rules.times import to_iso, utc_now
from leyden.client import ApiError, vault
from leyden.client.vault import Backup
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession, with_session
from leyden.customer.wallet.reaching import (
    meaning,
    open_node,
    password_option,
    wallet_password,
)
from leyden.customer.wallet.throwaway import throwaway_lnd
from leyden.errors import CannotOpen, Conflict, NodeRefused, NotFound
from leyden.schemas.nodes import NodeItem

_ABSENT = 404
_MAINNET = "mainnet"


@click.command()
@node_argument
@password_option
@as_json
@with_session
def drill(
    session: ApiSession, node: str, *, password_file: Path | None, as_json: bool
) -> None:
    """Verify that a node's backups decrypt and belong to the node.

    Decrypts the stored seed and macaroons with the wallet password. Restores the seed
    in a temporary lnd in this machine's memory, which has no port, no peers and no
    network, and verifies the channel backup with it; no channel closes. Tests each
    macaroon at the running node. Run it every three months.

    \b
    leyden wallet drill "harbour light"
    """
    found = session.node(node)
    if session.client.nodes.get(found.node_id).settings.remotesigning:
        raise Conflict("your signer has this node's seed, so there is nothing to drill")
    backups = vault.backups_of(session.client.backups, found.node_id)
    if not backups or backups[0].kind != "seed":
        raise NotFound(
            "no seed is stored for this node, so you could restore nothing; store it: "
            f"leyden wallet keep {found.node_name!r} --seed FILE"
        )
    password = wallet_password(password_file)
    seed, *macaroons = [(each, _opened(each, password)) for each in backups]
    channels, content = None, _channels(session, found)
    with throwaway_lnd(
        _program(found), seed[1].split(), mainnet=found.network == _MAINNET
    ) as lnd:
        public_key = lnd.public_key()
        if content:
            channels = lnd.verify_channels(content)
    states, signed = {}, ""
    now = to_iso(utc_now())
    message = f"The backups of node {found.node_id} were opened at {now}."
    for backup, macaroon in macaroons:
        state, signature = _tried(session, found, macaroon, public_key, message)
        states[backup.name] = state
        signed = signature or signed
    if not signed:
        raise Conflict(
            "the backups can be decrypted, but no stored macaroon can sign the date; "
            f"store one that can: leyden wallet keep {found.node_name!r} --macaroon "
            "FILE --name admin"
        )
    session.client.backups.store_drill(found.node_id, now, signed)
    shown = {
        "node_id": found.node_id,
        "public_key": public_key,
        "macaroons": states,
        "channels": channels,
        "opened": now,
        "signature": signed,
    }
    print_one(shown, as_json=as_json)
    if not as_json:
        print("these backups work")


def _opened(backup: Backup, password: str) -> str:
    try:
        return vault.open_(backup, password)
    except CannotOpen as error:
        raise CannotOpen(f"{backup}: {error.message}") from None


def _channels(session: ApiSession, node: NodeItem) -> bytes:
    try:
        return session.client.backups.channels(node.node_id)
    except ApiError as error:
        if error.status != _ABSENT:
            raise
        return b""  # it never had a channel


def _program(node: NodeItem) -> Path:
    cache = builds.default_cache(os.environ)
    with building() as progress:
        return asyncio.run(
            builds.binary("lnd", node.lnd_version, cache=cache, progress=progress)
        )


def _tried(
    session: ApiSession,
    node: NodeItem,
    macaroon: str,
    public_key: str,
    message: str,
) -> tuple[str, str]:
    """Try a macaroon at the node; return how it is, and the message if it signs it."""
    words = {"msg": base64.b64encode(message.encode()).decode()}
    with open_node(session, node, macaroon=macaroon) as lnd:
        try:
            info = lnd.get("/v1/getinfo")
            if info["identity_pubkey"] != public_key:
                raise Conflict(
                    f"the stored seed belongs to node {public_key}, but this node is "
                    f"{info['identity_pubkey']}: store this node's seed"
                )
            return "works", str(lnd.post("/v1/signmessage", words)["signature"])
        except NodeRefused as error:
            # The node knows it; it is for something else.
            is_narrow = "permission denied" in error.message.lower()
            return "works" if is_narrow else meaning(error.message, node), ""
